extension GATTClient {
    /// What a step of the machine asks of its driver: independent lanes, most of them empty.
    package struct Output: Sendable {
        /// Procedures that ended, in order.
        package var finished: [Finished] = []
        /// Notifications and indications, in order.
        package var values: [ReceivedValue] = []
        /// The one transaction timer.
        package var timer: TimerCommand?
        /// The bearer must be closed, for this reason.
        package var close: DisconnectReason?
        /// A line for each thing of the peer's that was ignored, for debugging; no values in it.
        package var notes: [String] = []

        package init() {}

        init(note: String) { notes = [note] }
    }

    /// A procedure that ended; the success has the procedure's own type.
    package struct Finished: Sendable {
        package var id: ProcedureID
        package var result: Result<any Sendable, GATTFailure>

        package init(id: ProcedureID, result: Result<any Sendable, GATTFailure>) {
            self.id = id
            self.result = result
        }
    }

    package enum TimerCommand: Hashable, Sendable {
        /// Start the timer, and stop the one before.
        case start(TimerID, Duration)
        case stop(TimerID)
    }

    /// A value that the server sent by itself.
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

extension GATTClient.Finished: Equatable {
    /// Successes are equal where their types are the same, and comparable, and compare equal; those without a value too.
    package static func == (left: Self, right: Self) -> Bool {
        guard left.id == right.id else { return false }
        switch (left.result, right.result) {
        case (.failure(let left), .failure(let right)): return left == right
        case (.success(let left), .success(let right)):
            if left is Void, right is Void { return true }
            guard let value = left as? any Equatable else { return false }
            return isEqual(value, right)
        default: return false
        }
    }

    private static func isEqual<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }
}
