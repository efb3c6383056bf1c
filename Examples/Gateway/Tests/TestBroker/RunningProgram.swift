import Foundation
import Synchronization

/// A program that runs, and the lines that it writes.
public final class RunningProgram: Sendable {
    /// The program ended before it wrote what was waited for.
    public struct Ended: Error, CustomStringConvertible {
        /// The last lines.
        public var description: String
    }

    private struct State {
        var lines: [String] = []
        var taken = 0
        var waiting: CheckedContinuation<Void, Never>?
        var isOver = false
    }

    private let process = Mutex(Process())
    private let state = Mutex(State())
    /// Its number.
    public let number: Int32

    /// Starts a program; what it writes to both outputs is kept.
    public init(_ path: String, _ words: [String], environment: [String: String] = [:]) throws {
        let pipe = Pipe()
        number = try process.withLock { process in
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = words
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = pipe
            process.standardError = pipe
            // A program inherits the blocked signals of the thread that starts it, and threads of pools block all.
            var (none, before) = (sigset_t(), sigset_t())
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, &before)
            defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
            try process.run()
            return process.processIdentifier
        }
        try? pipe.fileHandleForWriting.close()
        let reading = pipe.fileHandleForReading
        Thread.detachNewThread { [weak self] in
            var rest: [UInt8] = []
            while true {
                let data = reading.availableData
                if data.isEmpty { break }
                rest += data
                guard let end = rest.lastIndex(of: 10) else { continue }
                let lines = rest[..<end].split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
                rest.removeSubrange(...end)
                self?.add(lines)
            }
            self?.add([], isOver: true)
        }
    }

    private func add(_ lines: [String], isOver: Bool = false) {
        let waiting = state.withLock { state in
            state.lines += lines
            state.isOver = isOver
            return state.waiting.take()
        }
        waiting?.resume()
    }

    /// All lines so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// The next line; `nil` when the program has closed its outputs. For one caller at a time.
    public func next() async -> String? {
        while true {
            let (line, isOver) = state.withLock { state -> (String?, Bool) in
                guard state.taken < state.lines.count else { return (nil, state.isOver) }
                defer { state.taken += 1 }
                return (state.lines[state.taken], false)
            }
            if line != nil || isOver { return line }
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.taken < state.lines.count || state.isOver { return true }
                    state.waiting = continuation
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    /// Waits for a line.
    @discardableResult
    public func wait(for isWanted: (String) -> Bool) async throws -> String {
        while let line = await next() {
            if isWanted(line) { return line }
        }
        throw Ended(description: lines.suffix(20).joined(separator: "\n"))
    }

    /// Sends a signal.
    public func signal(_ signal: Int32) { kill(number, signal) }

    /// Sends a signal, and returns when the program has ended.
    ///
    /// - Returns: its status.
    @discardableResult
    public func end(_ signal: Int32) -> Int32 {
        kill(number, signal)
        return waitForEnd()
    }

    /// Returns when the program has ended.
    @discardableResult
    public func waitForEnd() -> Int32 {
        process.withLock { process in
            process.waitUntilExit()
            return process.terminationStatus
        }
    }
}
