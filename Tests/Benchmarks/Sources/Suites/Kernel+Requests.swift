import BLEStreams
import CBenchmarks
import FoundationEssentials
import Glibc

/// Reads one after the other, and writes without response, beside the C loops: as on the socket pair, but over the
/// kernel's links.
///
///     Benchmarks --kernel requests reads|writes plain LOCAL PEER COUNT
///     Benchmarks --kernel requests reads|writes anywhere|on-radio ADAPTER PEER COUNT
///
/// The time begins when the link is there and the first answer has come.
extension Kernel {
    private static let handle = UInt16(CBenchmarks_writableHandle)
    private static let size = 20

    static func request(_ arguments: [String]) async throws {
        guard arguments.count == 5, let count = UInt32(arguments[4]), ["reads", "writes"].contains(arguments[0]) else {
            throw Usage()
        }
        let (reads, local, peer) = (arguments[0] == "reads", arguments[2], arguments[3])
        let cost: Cost
        switch arguments[1] {
        case "plain": cost = try plain(reads, local, peer, count)
        case "anywhere", "on-radio":
            let central = try await Central.open(.adapter(local))
            let executor = arguments[1] == "on-radio" ? central.executor : nil
            cost = try await withTaskExecutorPreference(executor) { try await streams(reads, central, peer, count) }
        default: throw Usage()
        }
        let rate = Double(count) / (Double(max(1, cost.nanoseconds)) / 1e9)
        let work = Double(cost.processorNanoseconds) / 1000 / Double(count)
        print("{\"rate\":\(rate),\"processorMicroseconds\":\(work)}")
    }

    private struct Cost {
        let nanoseconds: UInt64
        let processorNanoseconds: UInt64
    }

    private static func plain(_ reads: Bool, _ local: String, _ peer: String, _ count: UInt32) throws -> Cost {
        let link = CBenchmarks_connectKernel(local, peer)
        guard link >= 0 else { throw failure }
        defer { close(link) }
        guard CBenchmarks_read(link, 1) != 0 else { throw failure }
        let before = CBenchmarks_processorTime()
        let time = reads ? CBenchmarks_read(link, count) : CBenchmarks_write(link, count, Int32(size))
        guard time != 0 else { throw failure }
        return Cost(nanoseconds: time, processorNanoseconds: CBenchmarks_processorTime() - before)
    }

    @concurrent private static func streams(
        _ reads: Bool,
        _ central: Central,
        _ peer: String,
        _ count: UInt32
    ) async throws -> Cost {
        try await central.peripheral(peer + "/public").withLink(timeout: .seconds(60)) { link in
            _ = try await link.read(.handle(handle))
            let (begin, before) = (CBenchmarks_now(), CBenchmarks_processorTime())
            if reads {
                for _ in 0..<count { _ = try await link.read(.handle(handle)) }
            } else {
                var value = [UInt8](repeating: 0, count: size)
                for number in 0..<count {
                    withUnsafeBytes(of: number.littleEndian) { value.replaceSubrange(0..<4, with: $0) }
                    try await link.write(value, to: .handle(handle), .withoutResponse)
                }
                // Its answer tells that all have arrived.
                _ = try await link.read(.handle(handle))
            }
            return Cost(
                nanoseconds: CBenchmarks_now() - begin,
                processorNanoseconds: CBenchmarks_processorTime() - before
            )
        }
    }
}
