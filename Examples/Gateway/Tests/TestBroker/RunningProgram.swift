import Foundation
import Synchronization

/// A program that runs, and the lines that it writes.
///
/// What waits for it ends when its task is cancelled, so that a test's time limit holds.
public final class RunningProgram: Sendable {
    /// The program ended, or the test's time is over, before what was waited for was written.
    public struct Ended: Error, CustomStringConvertible {
        /// The last lines.
        public var description: String
    }

    private struct State {
        var lines: [String] = []
        var taken = 0
        var isOver = false
        /// As `waitpid` reports it; `nil` while the program runs.
        var status: Int32?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var waits = 0
    }

    private let state = Mutex(State())
    /// Its number.
    public let number: Int32

    /// Starts a program; what it writes to both outputs is kept.
    ///
    /// - Parameter folder: where it runs; `nil`: here.
    public init(
        _ path: String,
        _ words: [String],
        environment: [String: String] = [:],
        in folder: String? = nil
    ) throws {
        let shell = ["-c", #"cd "$0" && exec "$@""#]
        let (file, arguments) = folder.map { ("/bin/sh", shell + [$0, path] + words) } ?? (path, words)
        // One at a time, so that none inherits the other's output.
        let (pipe, number) = try spawning.withLock { _ in
            let pipe = Pipe()
            for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            let number = try spawnProgram(
                file,
                arguments,
                environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
                output: pipe.fileHandleForWriting.fileDescriptor
            )
            return (pipe, number)
        }
        self.number = number
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
                self?.change { $0.lines += lines }
            }
            self?.change { $0.isOver = true }
        }
        Thread.detachNewThread { [weak self, number] in
            // Its number is its own until it is reaped, so that no signal reaches another process.
            var (information, status) = (siginfo_t(), Int32(0))
            while waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            guard let self else {
                waitpid(number, &status, 0)
                return
            }
            change { state in
                waitpid(number, &status, 0)
                state.status = status
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until something changes that makes it so, or until the task is cancelled.
    private func wait(until isSo: @escaping @Sendable (borrowing State) -> Bool) async {
        while !Task.isCancelled, !state.withLock({ isSo($0) }) {
            let number = state.withLock { state in
                state.waits += 1
                return state.waits
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let mustWait = state.withLock { state in
                        if Task.isCancelled || isSo(state) { return false }
                        state.waiting[number] = continuation
                        return true
                    }
                    if !mustWait { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
            }
        }
    }

    /// All lines so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// The next line; `nil` when the program has closed its outputs, and when the task is cancelled. For one caller at
    /// a time.
    public func next() async -> String? {
        await wait { $0.taken < $0.lines.count || $0.isOver }
        return state.withLock { state in
            guard state.taken < state.lines.count else { return nil }
            defer { state.taken += 1 }
            return state.lines[state.taken]
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

    /// Sends a signal, unless the program has ended.
    public func signal(_ signal: Int32) {
        state.withLock { if $0.status == nil { kill(number, signal) } }
    }

    /// Sends a signal, and returns when the program has ended.
    ///
    /// - Returns: its status, as of ``waitForEnd()``.
    @discardableResult
    public func end(_ signal: Int32) async -> Int32? {
        self.signal(signal)
        return await waitForEnd()
    }

    /// Returns when the program has ended.
    ///
    /// - Returns: its status, or minus the number of the signal that ended it; `nil` if the task was cancelled before.
    @discardableResult
    public func waitForEnd() async -> Int32? {
        await wait { $0.status != nil }
        return state.withLock { $0.status.map { $0 & 0x7F == 0 ? $0 >> 8 & 0xFF : -($0 & 0x7F) } }
    }
}

private let spawning = Mutex(())

/// Starts a program that has no descriptor but its own three: one of another program's would keep that one's output
/// open.
private func spawnProgram(
    _ path: String,
    _ words: [String],
    environment: [String: String],
    output: Int32
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        if let descriptor = Int32(name), descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
    }
    // A program inherits the blocked signals of the thread that starts it, and threads of pools block all. It inherits
    // the ignored signals of the process, too, and `nohup` has SIGHUP ignored.
    var (attributes, signals) = (posix_spawnattr_t(), sigset_t())
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let strings = ([path] + words).map { strdup($0) }
    let variables = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for string in strings + variables { free(string) } }
    var process = pid_t()
    let failure = posix_spawn(&process, path, &actions, &attributes, strings + [nil], variables + [nil])
    guard failure == 0 else { throw POSIXError(.init(rawValue: failure) ?? .ENOENT) }
    return process
}
