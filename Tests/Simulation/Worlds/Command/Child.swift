import Foundation
import Synchronization

/// A process that runs worlds for this one: where it is stopped by a trap, one world has failed and not all.
struct Child: Sendable {
    let arguments: [String]

    /// Runs it to its end, or until somebody has heard enough.
    ///
    /// - Parameter take: hears what it tells; `false` stops it.
    /// - Returns: how it was stopped where it was, in words; `nil` where it has ended in order, or by `take`.
    func run(_ take: @escaping @Sendable (WorldReport) -> Bool) async throws -> String? {
        let (process, output, errors) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        let (reports, ended) = AsyncStream.makeStream(of: Substring.self)
        let said = Mutex<[Substring]>([])
        Self.read(output) {
            ended.yield($0)
        } end: {
            ended.finish()
        }
        let (silence, silent) = AsyncStream.makeStream(of: Never.self)
        Self.read(errors) { line in
            said.withLock { $0 = $0.suffix(2) + [line] }
        } end: {
            silent.finish()
        }
        try process.run()
        var isEnough = false
        for await line in reports where !isEnough {
            guard let report = WorldReport(line), !take(report) else { continue }
            isEnough = true
            process.terminate()
        }
        for await _ in silence {}
        process.waitUntilExit()
        if isEnough || process.terminationReason == .exit && process.terminationStatus == 0 { return nil }
        return "the process was stopped by \(process.terminationStatus): "
            + said.withLock { $0.joined(separator: " / ") }
    }

    /// Reads a pipe line by line, on a thread of its own.
    private static func read(
        _ pipe: Pipe,
        _ take: @escaping @Sendable (Substring) -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread {
            var rest = ""
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += String(decoding: data, as: UTF8.self)
                while let line = rest.firstIndex(of: "\n") {
                    take(rest[..<line])
                    rest = String(rest[rest.index(after: line)...])
                }
            }
            end()
        }
    }
}
