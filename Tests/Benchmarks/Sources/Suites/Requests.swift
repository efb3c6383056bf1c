import BLEStreams
import CBenchmarks

/// Reads one after the other, and writes without response, beside loops of send and recv.
struct Requests {
    private let suite = "requests"
    private let handle = UInt16(CBenchmarks_writableHandle)

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        try await reads(runs) + writes(runs)
    }

    // MARK: - Reads

    @MainActor
    private func reads(_ runs: Int) async throws -> [Row] {
        let count = 20_000
        var (plain, elsewhere): ([UInt64], [UInt64]) = ([], [])
        var (onMain, onItsThread): ([UInt64], [UInt64]) = ([], [])
        CBenchmarks_resetPeakMemory()
        for _ in 0..<runs {
            plain.append(try Benchmarks.plain { CBenchmarks_read($0, UInt32(count)) })
            elsewhere.append(try await readElsewhere(count))
            onMain.append(try await read(count))
            onItsThread.append(try await readOnItsThread(count))
        }
        let peak = Double(CBenchmarks_peakMemory())
        let blocks = try await withLink { link in
            try await allocations(of: count) { for _ in 0..<count { _ = try await link.read(.handle(handle)) } }
        }
        return [
            Row(
                suite,
                "reads, one after the other",
                count: count,
                ours: elsewhere,
                plain: plain,
                goal: .atLeast(0.6),
                allocations: blocks,
                peakMemory: peak
            ),
            Row(suite, "  on the main actor", count: count, ours: onMain, plain: plain),
            Row(
                suite,
                "  on the radio's own thread",
                count: count,
                ours: onItsThread,
                plain: plain,
                goal: .atLeast(0.6)
            ),
        ]
    }

    private func read(_ count: Int, onItsThread: Bool = false) async throws -> UInt64 {
        try await withLink(onItsThread: onItsThread) { link in
            let begin = CBenchmarks_now()
            for _ in 0..<count { _ = try await link.read(.handle(handle)) }
            return CBenchmarks_now() - begin
        }
    }

    @concurrent private func readElsewhere(_ count: Int) async throws -> UInt64 { try await read(count) }

    @concurrent private func readOnItsThread(_ count: Int) async throws -> UInt64 {
        try await read(count, onItsThread: true)
    }

    // MARK: - Writes

    @MainActor
    private func writes(_ runs: Int) async throws -> [Row] {
        var rows: [Row] = []
        for size in [20, 244] {
            let count = 200_000
            var (plain, elsewhere): ([UInt64], [UInt64]) = ([], [])
            CBenchmarks_resetPeakMemory()
            for _ in 0..<runs {
                plain.append(try Benchmarks.plain { CBenchmarks_write($0, UInt32(count), Int32(size)) })
                elsewhere.append(try await writeElsewhere(count, size))
            }
            let peak = Double(CBenchmarks_peakMemory())
            let value = [UInt8](repeating: 0, count: size)
            let blocks = try await withLink { link in
                try await allocations(of: count) {
                    for _ in 0..<count { try await link.write(value, to: .handle(handle), .withoutResponse) }
                }
            }
            rows.append(
                Row(
                    suite,
                    "writes without response of \(size) octets",
                    count: count,
                    ours: elsewhere,
                    plain: plain,
                    goal: .atLeast(0.8),
                    allocations: blocks,
                    peakMemory: peak
                )
            )
        }
        return rows
    }

    /// The read at the end tells that all have arrived.
    @concurrent private func writeElsewhere(_ count: Int, _ size: Int) async throws -> UInt64 {
        try await withLink { link in
            var value = [UInt8](repeating: 0, count: size)
            let begin = CBenchmarks_now()
            for number in 0..<UInt32(count) {
                withUnsafeBytes(of: number.littleEndian) { value.replaceSubrange(0..<4, with: $0) }
                try await link.write(value, to: .handle(handle), .withoutResponse)
            }
            _ = try await link.read(.handle(handle))
            return CBenchmarks_now() - begin
        }
    }
}
