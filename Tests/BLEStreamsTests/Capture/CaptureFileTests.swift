import BLEProtocol
import Foundation
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct CaptureFileTests {
    private func contents(after body: (CaptureFile) throws -> Void) async throws -> Data {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try CaptureFile(path)
        try body(file)
        try await file.close()
        return try Data(contentsOf: URL(filePath: path))
    }

    @Test func `a folder in place of a file is an error that asks for a file`() throws {
        let folder = FileManager.default.temporaryDirectory.path
        let error = try #require(throws: BLEError.self) { try CaptureFile(folder) }
        #expect(error.systemError == EISDIR && error.object == "to \(folder)")
        #expect(error.remedy.hasPrefix("Pass the path of a file"), "\(error)")
    }

    /// That the folder exists and the disk has room is all right then.
    @Test(arguments: [
        (EMFILE, "LimitNOFILE="), (ENFILE, "fs.file-max"), (EROFS, "ReadWritePaths="), (EFBIG, "another file"),
        (ENOSPC, "the disk has room"),
    ])
    func `what to do depends on why a file can't be written`(number: Int32, remedy: String) {
        let error = BLEError.capture("/var/log/gateway/x.btsnoop", number)
        #expect(error.remedy.contains(remedy) && error.systemError == number, "\(error)")
    }

    @Test func `what is whole is written whole, beyond the room for a slow disk`() async throws {
        let octets = [UInt8](repeating: 7, count: CaptureFile.room + 1)
        let contents = try await contents { $0.appendWhole(octets) }
        #expect(contents.count == octets.count)
    }

    @Test func `what comes piece by piece has so much room`() async throws {
        let octets = [UInt8](repeating: 7, count: CaptureFile.room + 1)
        let contents = try await contents { file in
            let hadRoom = file.append(octets)
            #expect(!hadRoom)
        }
        #expect(contents.isEmpty)
    }

    @Test func `the end waits for a reserved place, and what stands behind that is written`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try CaptureFile(path)
        let (ends, feed) = AsyncStream.makeStream(of: [BLEError].self)
        let kept = try #require(file.reserve([1]))
        let dropped = try #require(file.reserve([2]))
        let hadRoom = file.append([3])
        file.closeSoon { error in feed.yield(error.map { [$0] } ?? []) }
        // A further call does nothing, but comes behind the first one.
        try await file.close()
        file.settle(dropped, isKept: false)
        file.settle(kept, isKept: true)
        var end = ends.makeAsyncIterator()
        let failures = try #require(await end.next())
        #expect(hadRoom && failures.isEmpty)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 3]))
    }

    @Test func `a place that nobody settles is counted as a missing packet, and what stands behind it is written`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let record = BTSnoopRecord(opcode: .event, index: 0, time: .zero, data: [1]).encoded
        let file = try CaptureFile(path, patience: .milliseconds(50))
        file.appendWhole(BTSnoopHeader(datalink: .linuxMonitor).encoded)
        let before = file.append(packet: record)
        let large = file.append(packet: [UInt8](repeating: 0, count: CaptureFile.room + 1))
        let place = file.reserve(record)
        let behind = file.append(packet: record)
        #expect(before && !large && place != nil && behind)
        let error = await bleError { try await file.close() }
        #expect(error?.code == .overflow && error?.cause.contains(" 2 packets are missing") == true)
        #expect(try records(of: path).map(\.drops) == [0, 2])
    }
}
