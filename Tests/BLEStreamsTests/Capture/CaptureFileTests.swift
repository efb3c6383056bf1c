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
}
