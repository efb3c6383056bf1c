import BLEStreams
import CBenchmarks

/// Notifications through `for try await`, off the main actor and on it, beside a recv loop, and beside one that asks
/// the kernel for the time of each, as the library does.
struct Notifications {
    private let suite = "notifications"
    private let uuid = BluetoothUUID(0xA001)

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        var rows: [Row] = []
        for size in [20, 244] {
            let count = 200_000
            var (plain, plainWithTimes, elsewhere): ([UInt64], [UInt64], [UInt64]) = ([], [], [])
            var (onMain, onItsThread): ([UInt64], [UInt64]) = ([], [])
            CBenchmarks_resetPeakMemory()
            for _ in 0..<runs {
                plain.append(
                    try Benchmarks.plain(notifications: count, size: size) { CBenchmarks_receive($0, UInt32(count)) }
                )
                plainWithTimes.append(
                    try Benchmarks.plain(notifications: count, size: size) {
                        CBenchmarks_receiveWithTimes($0, UInt32(count))
                    }
                )
                elsewhere.append(try await receiveElsewhere(count, size))
                onMain.append(try await receive(count, size))
                onItsThread.append(try await receiveOnItsThread(count, size))
            }
            let peak = Double(CBenchmarks_peakMemory())
            let blocks = try await allocationsElsewhere(count, size)
            rows.append(
                Row(
                    suite,
                    "notifications of \(size) octets",
                    count: count,
                    ours: elsewhere,
                    plain: plain,
                    goal: .atLeast(0.85),
                    allocations: blocks,
                    peakMemory: peak
                )
            )
            rows.append(
                Row(
                    suite,
                    "  beside C that asks for the times, too",
                    count: count,
                    ours: elsewhere,
                    plain: plainWithTimes,
                    goal: .atLeast(0.85)
                )
            )
            rows.append(
                Row(
                    suite,
                    "  on the main actor",
                    count: count,
                    ours: onMain,
                    plain: plain,
                    goal: .atLeast(0.6),
                    peakMemory: peak
                )
            )
            rows.append(
                Row(suite, "  on the radio's own thread", count: count, ours: onItsThread, plain: plain)
            )
        }
        return rows
    }

    /// Nanoseconds between the first and the last.
    private func receive(_ count: Int, _ size: Int, onItsThread: Bool = false) async throws -> UInt64 {
        try await withLink(notifications: count, size: size, onItsThread: onItsThread) { link in
            var begin: UInt64 = 0
            var expected: UInt32 = 0
            for try await value in link.notifications(of: uuid, buffer: .unbounded) {
                let number = UInt32(value[0]) | UInt32(value[1]) << 8 | UInt32(value[2]) << 16 | UInt32(value[3]) << 24
                precondition(value.count == size && number == expected, "a notification is missing or cut")
                if expected == 0 { begin = CBenchmarks_now() }
                expected += 1
                if expected == count { break }
            }
            return CBenchmarks_now() - begin
        }
    }

    @concurrent private func receiveElsewhere(_ count: Int, _ size: Int) async throws -> UInt64 {
        try await receive(count, size)
    }

    @concurrent private func receiveOnItsThread(_ count: Int, _ size: Int) async throws -> UInt64 {
        try await receive(count, size, onItsThread: true)
    }

    @concurrent private func allocationsElsewhere(_ count: Int, _ size: Int) async throws -> Double {
        try await withLink(notifications: count, size: size) { link in
            try await allocations(of: count) {
                var received = 0
                for try await _ in link.notifications(of: uuid, buffer: .unbounded) {
                    received += 1
                    if received == count { break }
                }
            }
        }
    }
}
