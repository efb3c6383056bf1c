import BLEStreams
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// A command that is run for its output.
final class ChildProcess: Sendable {
    /// Runs a command and returns what it prints, up to the limit.
    ///
    /// When the calling task is cancelled, or the time is over, the command and all the processes that it has started
    /// are killed.
    ///
    /// - Parameters:
    ///   - words: the program, which is searched for as a shell does, and its arguments.
    ///   - limit: the most octets to read.
    ///   - patience: how long it may take.
    /// - Throws: a `BLEError` if it can't be started, takes too long, or ends with a status other than 0;
    ///   `CancellationError`.
    static func output(of words: [String], limit: Int, patience: Duration) async throws -> [UInt8] {
        let child = try ChildProcess(words)
        let deadline = ContinuousClock.now + patience
        return try await withTaskCancellationHandler {
            let result = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: Result { try child.finish(limit, before: deadline, patience) })
                }
            }
            try Task.checkCancellation()
            return try result.get()
        } onCancel: {
            child.kill()
        }
    }

    /// One at a time, so that no command inherits another one's pipe.
    private static let starting = Mutex(())

    private let name: String
    private let output: Int32
    /// The process ID, until the process has been waited for: after that, it may be another process's.
    private let process: Mutex<pid_t?>

    private init(_ words: [String]) throws {
        name = words[0]
        let (number, reading) = try Self.starting.withLock { _ in
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw BLEError.command(words[0], cause: Self.words(for: errno)) }
            defer { close(ends[1]) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var number = pid_t()
            let failure = Self.spawn(words, output: ends[1], &number)
            guard failure == 0 else {
                close(ends[0])
                throw BLEError.command(words[0], cause: Self.words(for: failure))
            }
            return (number, ends[0])
        }
        output = reading
        process = Mutex(number)
    }

    private static func words(for error: Int32) -> String { String(cString: strerror(error)) }

    /// Starts it as the leader of a process group, without input, and with the default signal handling.
    private static func spawn(_ words: [String], output: Int32, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let strings = words.map { strdup($0) }
        defer { for string in strings { free(string) } }
        return posix_spawnp(&process, words[0], &actions, &attributes, strings + [nil], environ)
    }

    /// Ends it and all the processes that it has started.
    private func kill() { process.withLock { process in _ = process.map { Glibc.kill(-$0, SIGKILL) } } }

    /// Reads to the end, then waits for the process.
    private func finish(_ limit: Int, before deadline: ContinuousClock.Instant, _ patience: Duration) throws -> [UInt8]
    {
        defer { close(output) }
        var octets: [UInt8] = []
        var part = [UInt8](repeating: 0, count: limit)
        var isLate = false
        while octets.count < limit {
            let left = max(.zero, ContinuousClock.now.duration(to: deadline))
            var wanted = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let ready = poll(&wanted, 1, Int32((left.seconds * 1000).rounded(.up)))
            if ready < 0, errno == EINTR { continue }
            isLate = ready == 0
            guard ready > 0 else { break }
            let count = read(output, &part, limit - octets.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            octets += part.prefix(count)
        }
        // Nobody reads more of it; a command that has closed its output and continues has nothing more to say either.
        let isCut = octets.count == limit
        let status = reap(mayEnd: !isLate && !isCut, before: deadline)
        if isLate { throw BLEError.command(name, cause: "it did not end within \(patience.secondsText)") }
        guard isCut || status == 0 else { throw BLEError.command(name, cause: Self.words(forStatus: status)) }
        return octets
    }

    /// Waits for its end, natural or forced; returns the status from `waitpid`.
    private func reap(mayEnd: Bool, before deadline: ContinuousClock.Instant) -> Int32 {
        guard let number = process.withLock({ $0 }) else { return 0 }
        let end = DispatchWorkItem { [self] in kill() }
        let left = mayEnd ? max(.zero, ContinuousClock.now.duration(to: deadline)) : .zero
        DispatchQueue.global().asyncAfter(deadline: .now() + left.seconds, execute: end)
        var facts = siginfo_t()
        // It stays a zombie, so no other process gets its ID.
        while waitid(P_PID, id_t(number), &facts, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        end.cancel()
        var status: Int32 = 0
        // The processes that it has started end with it.
        kill()
        process.withLock { process in
            while waitpid(number, &status, 0) < 0, errno == EINTR {}
            process = nil
        }
        return status
    }

    private static func words(forStatus status: Int32) -> String {
        status & 0x7F == 0 ? "it ended with status \(status >> 8 & 0xFF)" : "signal \(status & 0x7F) ended it"
    }
}

extension BLEError {
    fileprivate static func command(_ name: String, cause: String) -> BLEError {
        BLEError(
            .systemFailure,
            operation: "run",
            object: name,
            cause: cause,
            remedy: "Try the command in a shell, as the same user and in the same folder."
        )
    }
}
