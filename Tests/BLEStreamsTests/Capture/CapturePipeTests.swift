import BLEProtocol
import BLERadio
import BLEStreams
import Foundation
import Testing

/// Recordings into a pipe that another program reads.
@Suite(.timeLimit(.minutes(1))) struct CapturePipeTests {
    @Test func `a pipe that nobody reads is an error, and not a wait without end`() async throws {
        let pipe = try NamedPipe()
        let error = try #require(throws: BLEError.self) {
            try TrafficCapture(file: pipe.path, patience: .milliseconds(50))
        }
        #expect(error.systemError == ENXIO)
        #expect(error.cause == "no program reads this pipe")
        #expect(error.remedy == "Start a program that reads it first, such as `btmon -r '\(pipe.path)'`.")
    }

    @Test func `a reader gets the recording`() async throws {
        let pipe = try NamedPipe()
        let reader = try pipe.reader()
        let capture = try TrafficCapture(file: pipe.path)
        try await capture.close()
        let octets = try #require(try reader.readToEnd())
        #expect(octets.starts(with: Data("btsnoop".utf8)))
    }

    @Test func `a reader that begins a little later gets the recording`() async throws {
        let pipe = try NamedPipe()
        let octets = Recorder<Data?>()
        let isRead = DispatchSemaphore(value: 0)
        // It opens the pipe as other programs do: each side waits for the other one.
        Thread.detachNewThread {
            octets.add(try? FileHandle(forReadingFrom: URL(filePath: pipe.path)).readToEnd())
            isRead.signal()
        }
        try await TrafficCapture(file: pipe.path).close()
        await withCheckedContinuation { done in
            DispatchQueue.global().async {
                isRead.wait()
                done.resume()
            }
        }
        #expect(octets.all.first??.starts(with: Data("btsnoop".utf8)) == true)
    }

    @Test func `a reader that ends ends the recording, and not the program`() async throws {
        let pipe = try NamedPipe()
        let reader = try pipe.reader()
        let capture = try TrafficCapture(file: pipe.path)
        try reader.close()
        let error = await #expect(throws: BLEError.self) { try await capture.close() }
        #expect(error?.systemError == EPIPE)
        #expect(error?.cause == "the program that read this pipe has ended")
    }
}

/// A reader that hangs.
@Suite(.timeLimit(.minutes(1))) struct StuckPipeTests {
    @Test func `a reader that takes nothing doesn't keep the recording from ending`() async throws {
        let pipe = try NamedPipe()
        let reader = try pipe.reader()
        let capture = try TrafficCapture(file: pipe.path, patience: .milliseconds(100))
        let link = FakeLink(answers: [])
        defer { link.end() }
        let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
        captured.start(Listener())
        // More than a pipe holds.
        for _ in 0..<200 { link.receive([0x1B] + [UInt8](repeating: 0, count: 499)) }
        let error = await #expect(throws: BLEError.self) { try await capture.close() }
        #expect(error?.systemError == ETIMEDOUT)
        #expect(error?.cause == "the program that reads this pipe took nothing for 0.1 seconds")
        try await capture.close()
        try reader.close()
    }
}

/// A named pipe in a folder of its own, removed at the end.
private final class NamedPipe: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID())")
    let path: String

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "capture").path
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Opens it for reading without waiting for a writer.
    func reader() throws -> FileHandle {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
