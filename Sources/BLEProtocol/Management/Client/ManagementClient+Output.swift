extension ManagementClient {
    /// Identifies a submitted command, and its timer.
    package struct RequestID: Hashable, Sendable {
        let rawValue: UInt64
    }

    /// What to do after an input; each lane may be empty.
    package struct Output: Equatable, Sendable {
        /// Datagrams for the socket, in this order.
        package var send: [Transmission] = []
        /// The commands that have ended, each exactly once.
        package var completed: [Completion] = []
        /// The event that was received.
        package var event: IndexedEvent?
        /// Timers to start and stop.
        package var timers: [Timer] = []
        /// An answer that belongs to no command, see ``ManagementClient/endedWithRemoval(_:)``.
        package var unexpectedReply: ManagementReply?
        /// The fault of the datagram; it has no other effect.
        package var malformed: ManagementDecodingError?
    }

    /// One datagram to send.
    package struct Transmission: Equatable, Sendable {
        /// The command, for ``ManagementClient/sendFailed(_:)``.
        package let id: RequestID
        package let datagram: [UInt8]
    }

    /// How a command ended.
    package struct Completion: Equatable, Sendable {
        package let id: RequestID
        package let outcome: Outcome
        /// Whether the answer of a command that timed out may be among datagrams that were lost: it says nothing of the
        /// controller.
        package var mayBeLost = false
    }

    package enum Outcome: Equatable, Sendable {
        /// The kernel answered, with success or not; ``ManagementStatus/invalidIndex`` when the controller was removed.
        case replied(ManagementReply)
        /// The kernel did not answer in time.
        case timedOut
        /// The socket refused the command.
        case notSent
        /// The socket was closed.
        case closed
    }

    /// An event, and the controller that it concerns.
    package struct IndexedEvent: Equatable, Sendable {
        package let index: ManagementIndex
        package let event: ManagementEvent
    }

    /// What to do with a timer.
    package enum Timer: Equatable, Sendable {
        /// Report it with ``ManagementClient/timerFired(_:)`` after this long.
        case start(RequestID, Duration)
        case cancel(RequestID)
    }
}

extension ManagementClient.Transmission: CustomStringConvertible, CustomReflectable {
    /// The length alone: the datagram may hold keys.
    package var description: String { "\(id): \(datagram.count) octets" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
