extension ATTServer {
    /// The results of a call to the server; the parts are independent.
    package struct Output: Hashable, Sendable {
        /// Values that the program must supply: answer each with ``ATTServer/respond(to:with:database:)``.
        package var reads: [PendingRead] = []
        /// Values that a client has written, or wants to write.
        package var writes: [ServerWrite] = []
        /// Commands that were ignored though the client may write there: it doesn't know of a change of the database,
        /// the value is too long, or the write is signed. It isn't told.
        package var lostWrites: [LostWrite] = []
        /// How many PDUs of the client the link has lost before the next one; each may have been anything.
        package var lostPDUs = 0
        /// Changes of the client's subscriptions.
        package var subscriptionChanges: [SubscriptionChange] = []
        /// The client has confirmed these indications.
        package var confirmed: [IndicationID] = []
        /// These indications will not be confirmed: the client unsubscribed or the bearer ended.
        package var unconfirmed: [IndicationID] = []
        /// The program's answers to these are no longer needed.
        package var cancelled: [RequestToken] = []
        /// ATT_MTU has changed, by an exchange that the client requested.
        package var mtu: Int?
        /// What is kept of a bonded client has changed: its configurations, its features, or whether it knows the
        /// database.
        package var hasNewState = false
        /// A timer to start or to stop.
        package var timer: TimerCommand?
        /// The queues that refused a value with ``SendRefusal/full`` and have room again.
        package var room: Room = []
        /// The bearer must be closed, for this reason; nothing more will be sent on it.
        package var close: DisconnectReason?
        /// Oddities of the client, for a log.
        package var notes: [String] = []

        package init() {}
    }

    /// Identifies a question to the program until it is answered; never used twice on one bearer.
    package struct RequestToken: Hashable, Sendable {
        var number: UInt64
    }

    /// Identifies an indication until it is confirmed, and its timer; never used twice on one bearer.
    package struct IndicationID: Hashable, Comparable, Sendable {
        var number: UInt64

        package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// A client reads a value that the program must supply.
    package struct PendingRead: Hashable, Sendable {
        package var token: RequestToken
        package var handle: UInt16
        /// The offset at which the client begins to read. The answer is nevertheless the whole value: the server cuts
        /// it.
        package var offset: Int
        /// How many octets of it the answer has at most: of a value with more, the client reads the rest later.
        package var limit: Int
    }

    /// A client writes a value.
    package struct ServerWrite: Hashable, Sendable {
        /// What remains to do about the write.
        package enum Answer: Hashable, Sendable {
            /// Nothing: the database already has the complete new value, which is also in `value`.
            case stored
            /// The program decides whether to accept the value, and stores it; the octets of a success are ignored.
            case awaited(RequestToken)
            /// The program may accept the value or not; the client gets no answer.
            case none
        }

        package var handle: UInt16
        /// The offset of the octets in the value; other than 0 only if a client has written a part by a long write.
        package var offset: Int
        package var value: [UInt8]
        package var answer: Answer
        /// What the client has written, if a stored value results from that and from what it leaves of the former one:
        /// that may change before the program has accepted the value.
        package var change: AttributeWrites?

        package init(
            handle: UInt16,
            offset: Int,
            value: [UInt8],
            answer: Answer,
            change: AttributeWrites? = nil
        ) {
            self.handle = handle
            self.offset = offset
            self.value = value
            self.answer = answer
            self.change = change
        }
    }

    /// A write without response that is lost.
    package struct LostWrite: Hashable, Sendable {
        package var handle: UInt16
        /// What a write with response would have been answered.
        package var error: ATTError
    }

    /// A change of a client's subscription to a characteristic.
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
        /// Call ``ATTServer/timerFired(_:)`` with this after that time.
        case start(IndicationID, Duration)
        /// The timer isn't needed any more.
        case stop(IndicationID)
    }

    /// The queues of notifications and indications; each is full, and has room again, independently.
    package struct Room: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let notifications = Room(rawValue: 1)
        package static let indications = Room(rawValue: 2)
        /// No notification waits any more for a client that was behind.
        package static let backlog = Room(rawValue: 4)
        /// No notification waits any more, or those that do wait for the client; reported only on request.
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
        /// The client has not subscribed.
        case notSubscribed
        /// The client has unsubscribed since the first of several values that belong together.
        case brokenOff
        /// Some of several values that belong together were dropped for newer ones.
        case displaced
        /// ATT_MTU has become smaller since the first of several values that belong together: those that waited, and
        /// those that follow, are cut.
        case narrowed
        /// The link is not protected as the characteristic requires.
        case insufficientSecurity
        /// The program has not authorized the client, as the characteristic requires.
        case notAuthorized
        /// The client doesn't know of a change of the database yet, has requested to get nothing until it does, and
        /// hasn't subscribed to Service Changed, which would tell it.
        case outOfSync
        /// The queue is full; ``Output/room`` reports when it has room.
        case full
        /// The bearer has ended, or this device gives it up.
        case closed
    }

    /// Limits on what a client can make the server keep.
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
