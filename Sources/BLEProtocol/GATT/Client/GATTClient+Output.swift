extension GATTClient {
    /// What the driver must do after a step of the machine: independent lanes, most of them empty.
    package struct Output: Sendable {
        /// Procedures that ended, in order.
        package var finished = Few<Finished>()
        /// Notifications and indications, in order.
        package var values = Few<ReceivedValue>()
        /// The one transaction timer.
        package var timer: TimerCommand?
        /// The bearer must be closed, for this reason.
        package var close: DisconnectReason?
        /// The peer has answered Database Out Of Sync to a request that nobody awaits any more. It tells that only once.
        package var isOutOfSync = false
        /// A line for each PDU of the peer that was ignored, for debugging, without values.
        package var notes: [String] = []

        package init() {}

        init(note: String) { notes = [note] }
    }

    /// A procedure that ended.
    package struct Finished: Equatable, Sendable {
        package var id: ProcedureID
        package var result: Result<GATTSuccess, GATTFailure>

        package init(id: ProcedureID, result: Result<GATTSuccess, GATTFailure>) {
            self.id = id
            self.result = result
        }
    }

    package enum TimerCommand: Hashable, Sendable {
        /// Start the timer, and stop the previous one.
        case start(TimerID, Duration)
        case stop(TimerID)
    }

    /// A value that the server sent as a notification or an indication.
    package struct ReceivedValue: Hashable, Sendable {
        package var handle: UInt16
        package var value: ArraySlice<UInt8>
        package var time: ReceptionTime
        /// Whether it came as an indication; the machine confirms it by itself.
        package var isIndication: Bool

        package init(handle: UInt16, value: ArraySlice<UInt8>, time: ReceptionTime, isIndication: Bool) {
            self.handle = handle
            self.value = value
            self.time = time
            self.isIndication = isIndication
        }
    }
}

// MARK: - Comparing

extension GATTClient.Output: Equatable {}
