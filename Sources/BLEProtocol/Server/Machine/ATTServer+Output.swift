extension ATTServer {
    /// What a call of the server leads to; each part stands by itself.
    package struct Output: Hashable, Sendable {
        /// Values that the program is asked for: answer each with ``ATTServer/respond(to:with:database:)``.
        package var reads: [PendingRead] = []
        /// Values that a client has written, or wants to write.
        package var writes: [ServerWrite] = []
        /// What the client wants to be sent has changed.
        package var subscriptionChanges: [SubscriptionChange] = []
        /// The client has confirmed these indications.
        package var confirmed: [IndicationID] = []
        /// These indications won't be confirmed any more: the client unsubscribed or the bearer ended.
        package var unconfirmed: [IndicationID] = []
        /// The program's answers to these are no longer wanted.
        package var cancelled: [RequestToken] = []
        /// ATT_MTU has changed, by an exchange that the client asked for.
        package var mtu: Int?
        /// A timer to start or to stop.
        package var timer: TimerCommand?
        /// What was refused with ``SendRefusal/full`` and may be tried again.
        package var room: Room = []
        /// The bearer must be closed, for this reason; nothing more will be sent on it.
        package var close: DisconnectReason?
        /// What was strange about the client, for a log.
        package var notes: [String] = []

        package init() {}
    }

    /// Names a question to the program until it is answered; never used twice on one bearer.
    package struct RequestToken: Hashable, Sendable {
        var number: UInt64
    }

    /// Names an indication until it is confirmed, and its timer; never used twice on one bearer.
    package struct IndicationID: Hashable, Sendable {
        var number: UInt64
    }

    /// A client reads a value that the program must give.
    package struct PendingRead: Hashable, Sendable {
        package var token: RequestToken
        package var handle: UInt16
        /// Where the client begins to read. The answer is nevertheless the whole value: the server cuts it.
        package var offset: Int
    }

    /// A client writes a value.
    package struct ServerWrite: Hashable, Sendable {
        /// What is left to do about the write.
        package enum Answer: Hashable, Sendable {
            /// Nothing: the database has the new value already, whole, which is also in `value`.
            case stored
            /// The program says whether it takes the value, and stores it; the success's octets are ignored.
            case awaited(RequestToken)
            /// The program takes the value or leaves it; the client learns nothing.
            case none
        }

        package var handle: UInt16
        /// Where in the value the octets belong; not 0 only where a client has written a part by a long write.
        package var offset: Int
        package var value: [UInt8]
        package var answer: Answer

        package init(handle: UInt16, offset: Int, value: [UInt8], answer: Answer) {
            self.handle = handle
            self.offset = offset
            self.value = value
            self.answer = answer
        }
    }

    /// What a client wants to be sent of a characteristic.
    package struct SubscriptionChange: Hashable, Sendable {
        /// The characteristic's value handle.
        package var characteristic: UInt16
        package var subscription: ServerClient.Subscription

        package init(characteristic: UInt16, subscription: ServerClient.Subscription) {
            self.characteristic = characteristic
            self.subscription = subscription
        }
    }

    /// What to do with the timer of an indication.
    package enum TimerCommand: Hashable, Sendable {
        /// Call ``ATTServer/timerFired(_:)`` with this after so long.
        case start(IndicationID, Duration)
        /// The timer isn't needed any more.
        case stop(IndicationID)
    }

    /// The queues of what is sent without having been asked for; each is full, and has room again, by itself.
    package struct Room: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let notifications = Room(rawValue: 1)
        package static let indications = Room(rawValue: 2)
        /// Of a client that was behind with its notifications nothing waits any more.
        package static let backlog = Room(rawValue: 4)
        /// No notification waits any more; told to who has asked for it.
        package static let empty = Room(rawValue: 8)
    }

    /// Why a value is not sent to a client.
    package enum SendRefusal: Error, Hashable, Sendable {
        /// No characteristic has this value handle.
        case unknownCharacteristic
        /// The characteristic's properties don't promise it.
        case notOffered
        /// The value has more octets than any attribute's.
        case tooLong
        /// The client has not asked for it.
        case notSubscribed
        /// The link is not protected as the characteristic asks for.
        case insufficientSecurity
        /// The client does not know of a change of the database yet, and asked not to be sent anything until it does.
        case outOfSync
        /// The queue is full; ``Output/room`` tells when it is not any more.
        case full
        /// The bearer has ended.
        case closed
    }

    /// How much a client can make the server keep.
    package struct Limits: Hashable, Sendable {
        /// Requests that the client may send before the first is answered; the specification allows it one.
        package var outstandingRequests = 4
        /// Prepared writes that wait for their execution.
        package var preparedWrites = 128
        /// The octets in them.
        package var preparedOctets = 4096
        /// Notifications that wait for the link.
        package var notifications = 64
        /// Indications that wait for the link or for a confirmation.
        package var indications = 64

        package init() {}
    }
}
