import BLEProtocol
import BLEStreams
import Foundation
import Synchronization
import Testing

/// An ATT PDU in a file, and its direction.
struct Packet: Hashable {
    var isSent: Bool
    var pdu: [UInt8]
}

extension Packet {
    /// The PDU in a record: behind handle and length of HCI, length and channel of L2CAP.
    init?(_ record: BTSnoopRecord) {
        guard record.opcode == .dataSent || record.opcode == .dataReceived else { return nil }
        self.init(isSent: record.opcode == .dataSent, pdu: Array(record.data.dropFirst(8)))
    }
}

/// The records of a capture's octets; fails where something is left over.
func decoded(_ octets: [UInt8]) throws -> [BTSnoopRecord] {
    var reader = ByteReader(octets[...])
    let header = try #require(BTSnoopHeader(decoding: &reader))
    #expect(header.datalink == .linuxMonitor)
    var records: [BTSnoopRecord] = []
    while let record = BTSnoopRecord(decoding: &reader) { records.append(record) }
    #expect(reader.isAtEnd)
    return records
}

func records(of path: String) throws -> [BTSnoopRecord] {
    try decoded(Array(Data(contentsOf: URL(filePath: path))))
}

/// A recording in a file that is gone afterwards.
func withCapture(_ body: (TrafficCapture, String) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(try TrafficCapture(file: path), path)
}

/// What is in the file after a test body in virtual time, and what the body found out.
func recorded<Facts: Sendable>(
    _ body: @escaping @Sendable (TrafficCapture, Bench) async throws -> Facts
) async throws -> (file: [BTSnoopRecord], facts: Facts) {
    let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let capture = try TrafficCapture(file: path)
    let facts = Mutex<Facts?>(nil)
    try await Bench.run { bench in
        let found = try await body(capture, bench)
        facts.withLock { $0 = found }
    }
    try await capture.close()
    return (try records(of: path), try #require(facts.withLock { $0 }))
}

/// The reading end of a pipe that stands for a disk, and works when it is told to.
final class SlowDisk: Sendable {
    private let descriptor: Int32
    private let octets = Mutex<[UInt8]>([])

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, 0)
    }

    /// Takes octets until it has so many, or there are no more; on a thread of its own.
    func work(until limit: Int) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var buffer = [UInt8](repeating: 0, count: 1 << 20)
                while self.octets.withLock({ $0.count }) < limit {
                    let count = read(self.descriptor, &buffer, buffer.count)
                    guard count > 0 else { break }
                    self.octets.withLock { $0 += buffer.prefix(count) }
                }
                continuation.resume()
            }
        }
    }

    /// Takes everything that still comes, and gives all.
    func finish() async -> [UInt8] {
        await work(until: .max)
        close(descriptor)
        return octets.withLock { $0 }
    }
}
