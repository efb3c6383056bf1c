import BLEProtocol
import BLEStreams

/// Brings the new records of one report into ascending order; a value without I/O.
///
/// What is stored decides where a later report begins, so no record may be stored before an earlier one. A device that
/// sends the lowest number first has each record stored as it comes. One that sends the latest first has all of a
/// report kept until its end: the second record tells which one it is, unless the first one can have no earlier one.
struct ReportedRecords {
    private enum Order {
        case unknown
        case ascending
        case other
    }

    /// The most octets kept: more than all 65,536 records of a Record Access Control Point have.
    private static let limit = 16 << 20
    /// The most gaps kept, of a device whose numbers are times and leave one behind each record.
    private static let gapLimit = 65_536
    /// What a record takes up beside its octets.
    private static let overhead = 64

    /// The number of the last record not wanted any more.
    private let last: Int?
    /// Whether the first record is not kept until the second one comes.
    private let isImpatient: Bool
    private var order = Order.unknown
    /// The lowest number of a report in ascending order, and the highest one so far.
    private var first: Int?
    private var highest = Int.min
    /// The numbers between them that have not come, in ascending order.
    private var gaps: [ClosedRange<Int>] = []
    private var kept: [DeviceRecord] = []
    private var size = 0

    /// - Parameter isImpatient: whether the first record is to be stored at once, because the device may wait for its
    ///   acknowledgement.
    init(after last: Int?, isImpatient: Bool) {
        self.last = last
        self.isImpatient = isImpatient
    }

    /// Takes the next record; returns whether it is to be stored now, behind those of ``release()``.
    mutating func take(_ record: DeviceRecord, _ context: CommandContext) throws -> Bool {
        if let last, record.number <= last { return false }
        switch order {
        case .ascending:
            if record.number > highest {
                pass(to: record.number)
            } else if let later = later(than: record.number) {
                throw BLEError.tooLate(record.number, behind: later, after: last, context)
            }
            return true
        case .unknown:
            if let former = kept.first {
                if record.number == former.number { return false }
                order = record.number > former.number ? .ascending : .other
            } else if isImpatient || record.number == (last ?? -1) &+ 1 {
                order = .ascending
            }
            if order == .ascending {
                let lowest = kept.first?.number ?? record.number
                (first, highest) = (lowest, lowest)
                pass(to: record.number)
                return true
            }
        case .other: break
        }
        size += record.bytes.count + Self.overhead
        guard size <= Self.limit else { throw BLEError.tooMany(kept.count, context) }
        kept.append(record)
        return false
    }

    /// Notes the next record of a report in ascending order.
    private mutating func pass(to number: Int) {
        guard number > highest else { return }
        if highest + 1 < number, gaps.count < Self.gapLimit { gaps.append(highest + 1...number - 1) }
        highest = number
    }

    /// A later record that has come already; `nil` if this one has come, too.
    private func later(than number: Int) -> Int? {
        if let first, number < first { return first }
        var (low, high) = (0, gaps.count)
        while low < high {
            let middle = (low + high) / 2
            if gaps[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < gaps.count && gaps[low].contains(number) ? gaps[low].upperBound + 1 : nil
    }

    /// Removes and returns the records kept, in ascending order.
    mutating func release() -> [DeviceRecord] {
        guard !kept.isEmpty else { return [] }
        defer { (kept, size) = ([], 0) }
        return kept.sorted { $0.number < $1.number }
    }
}

extension BLEError {
    /// - Parameter last: the last record not wanted any more when the report began.
    fileprivate static func tooLate(
        _ number: Int,
        behind first: Int,
        after last: Int?,
        _ context: CommandContext
    ) -> BLEError {
        let beginning = last.map { "\($0)" } ?? "nil"
        var error = BLEError(
            .protocolViolation,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause:
                "the device sent record \(number) behind record \(first), which is stored already: records are stored "
                + "in ascending order",
            remedy:
                "If the batch is 1, use a larger one; otherwise put the records in order in a RecordTransport of your "
                + "own. Then run a new flow with `after: \(beginning)`: this one would pass over the earlier records."
        )
        // Another attempt would begin behind what is stored, and succeed without the earlier records.
        error.isFinal = true
        return error
    }

    fileprivate static func tooMany(_ count: Int, _ context: CommandContext) -> BLEError {
        BLEError(
            .overflow,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: "the device sends its latest records first, and \(count) of them fill the memory in which they are "
                + "kept until the earliest one arrives",
            remedy: "Fetch the records in ranges, with a RecordTransport of your own."
        )
    }
}
