public import BLEStreams

/// The commands to a device that stores records, and its answers (GATT Specification Supplement, Record Access Control
/// Point; Glucose Service 1.0.1, 3.4).
///
/// ```swift
/// let answer = try await link.perform(.requestCount(.all), on: .recordAccessControlPoint)
/// if case .count(let count) = answer { print(count) }
/// try await link.perform(.delete(.through(.number(6))), on: .recordAccessControlPoint)
/// ```
///
/// ``SynchronizationFlow`` with ``RecordAccessControlPoint`` fetches the records.
public enum RecordAccess: Hashable, Sendable {
    /// Which records a command is about.
    public enum Selection: Hashable, Sendable {
        /// All.
        case all
        /// Those up to a limit, which is one of them.
        case through(Limit)
        /// Those from a limit on, which is one of them.
        case from(Limit)
        /// Those between two limits of the same kind, which are two of them.
        case between(Limit, and: Limit)
        /// The oldest.
        case first
        /// The newest.
        case last
        /// Another operator, with its operand.
        case other(UInt8, [UInt8])
    }

    /// A record, by what the device sorts its records by.
    public enum Limit: Hashable, Sendable {
        /// By its sequence number.
        case number(Int)
        /// By its time, as its user sees it.
        case time(DateTime)
    }

    /// How a command has ended; unknown numbers are preserved.
    public struct Outcome: RawRepresentable, Hashable, Sendable {
        /// The number on air.
        public let rawValue: UInt8

        /// Makes an outcome from its number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// It succeeded.
        public static let success = Outcome(rawValue: 1)
        /// The device doesn't support the command.
        public static let notSupported = Outcome(rawValue: 2)
        /// The operator has no meaning for the command.
        public static let invalidOperator = Outcome(rawValue: 3)
        /// The device doesn't support the operator.
        public static let operatorNotSupported = Outcome(rawValue: 4)
        /// The operand has no meaning for the operator.
        public static let invalidOperand = Outcome(rawValue: 5)
        /// There is no such record.
        public static let noRecords = Outcome(rawValue: 6)
        /// It couldn't be aborted.
        public static let abortUnsuccessful = Outcome(rawValue: 7)
        /// The device couldn't complete it.
        public static let notCompleted = Outcome(rawValue: 8)
        /// The device doesn't support the operand.
        public static let operandNotSupported = Outcome(rawValue: 9)
    }

    /// Requests records, which another characteristic notifies.
    case report(Selection)
    /// Deletes records.
    case delete(Selection)
    /// Ends a report or a deletion that is under way.
    case abort
    /// Requests the number of records.
    case requestCount(Selection)
    /// The device's answer to ``requestCount(_:)``.
    case count(Int)
    /// The device's answer to the command with a number.
    case response(to: UInt8, Outcome)
    /// Another command, with what follows it.
    case other(UInt8, [UInt8])
}

extension RecordAccess.Outcome: CustomStringConvertible {
    /// In words, as `operator not supported`; the number if it has no meaning.
    public var description: String {
        let words = [
            "success", "operation not supported", "invalid operator", "operator not supported", "invalid operand",
            "no records found", "abort unsuccessful", "procedure not completed", "operand not supported",
        ]
        let place = Int(rawValue) - 1
        return words.indices.contains(place) ? words[place] : "\(rawValue)"
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<RecordAccess> {
    /// Record Access Control Point, 2A52: written and indicated.
    public static var recordAccessControlPoint: Self {
        TypedCharacteristic(
            .Characteristics.recordAccessControlPoint,
            decode: RecordAccess.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension RecordAccess: ControlPointCommand {
    public func result(of command: RecordAccess) -> ControlPointResult? {
        switch (self, command) {
        case (.count, .requestCount): .success
        case (.response(command.number, .success), _): .success
        case (.response(command.number, let outcome), _): .failure("\(outcome)")
        default: nil
        }
    }

    /// The number on air.
    var number: UInt8 {
        switch self {
        case .report: 0x01
        case .delete: 0x02
        case .abort: 0x03
        case .requestCount: 0x04
        case .count: 0x05
        case .response: 0x06
        case .other(let number, _): number
        }
    }
}
