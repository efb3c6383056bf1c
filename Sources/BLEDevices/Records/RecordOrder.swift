import BLEProtocol
import BLEStreams

/// Whether the records of one report make progress; a value without I/O.
///
/// A device may begin too early, and go through records again: each time, it goes back once. One that goes back again
/// and again, without a later record or an earlier one than all before, would never come to its end.
struct RecordOrder {
    /// How often in a row a device may go back.
    private static let limit = 100

    private var previous = Int.min
    private var seen: ClosedRange<Int>?
    private var returns = 0

    /// The highest number so far; `nil` before the first record.
    var latest: Int? { seen?.upperBound }

    /// Takes the number of the next record; throws if the device only repeats its records.
    mutating func take(_ number: Int, _ context: CommandContext) throws {
        defer { previous = number }
        guard let known = seen, known.contains(number) else {
            seen = min(seen?.lowerBound ?? number, number)...max(seen?.upperBound ?? number, number)
            returns = 0
            return
        }
        if number <= previous { returns += 1 }
        guard returns > Self.limit else { return }
        throw BLEError(
            .protocolViolation,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: "the device repeats its records: it went back \(returns) times in a row, and sent none after number "
                + "\(known.upperBound)",
            remedy: "Restart the device, then run the flow again: it continues after the last record stored."
        )
    }
}
