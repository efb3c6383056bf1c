import Foundation
import Synchronization

/// A child process, started as a shell would: no descriptors but its own three, and the usual signals.
///
/// Foundation's `Process` hands the pipes of one child to the next one that is started at the same time; a reader that
/// leaves is then never noticed.
struct Child {
    let process: pid_t
    /// The reading end of its standard output.
    let output: Int32
    /// The reading end of its standard error.
    let errors: Int32
    /// The end of the terminal at which its input is typed; `nil` if its input is no terminal.
    let keyboard: Int32?

    /// One at a time, so that no child inherits the pipes of another one.
    private static let starting = Mutex(())

    /// - Parameters:
    ///   - sink: where its results go; to a pipe where nothing is said.
    ///   - columns: how wide the terminals are that its standard output and error are, which move their cursors unless
    ///     the environment says otherwise; `nil`: they are pipes.
    ///   - isOneTerminal: whether both are the same terminal, as a person has it; all is then read from its output.
    ///   - input: what stands in its standard input; nothing where nothing is said.
    ///   - typed: what a person types; its standard input is then a terminal, which passes on whole lines.
    ///   - environment: what its environment has beside, or in place of, that of the tests.
    init(
        _ program: String,
        _ arguments: [String],
        sink: Int32? = nil,
        columns: UInt16? = nil,
        isOneTerminal: Bool = false,
        input: String = "",
        typed: String? = nil,
        environment: [String: String] = [:]
    ) throws {
        BrokenPipes.areErrors
        (process, output, errors, keyboard) = try Self.starting.withLock { _ in
            let makeEnds = { try columns.map { try Self.makeTerminal(columns: $0) } ?? Self.makePipe() }
            let (output, errors) = (try makeEnds(), isOneTerminal ? try Self.makePipe() : try makeEnds())
            defer {
                close(output.writing)
                close(errors.writing)
            }
            let words = [program] + arguments
            let keyboard = try typed.map { _ in try Self.makeTerminal(columns: columns ?? 80, isRaw: false) }
            if let keyboard, let typed { write(keyboard.reading, typed, typed.utf8.count) }
            let process = try Self.spawn(
                words,
                input: keyboard?.writing ?? Self.file(with: input),
                output: sink ?? output.writing,
                errors: isOneTerminal ? output.writing : errors.writing,
                environment: ProcessInfo.processInfo.environment
                    .merging(columns == nil ? [:] : ["TERM": "xterm"]) { $1 }.merging(environment) { $1 }
            )
            return (process, output.reading, errors.reading, keyboard?.reading)
        }
    }

    /// A file that nobody else sees, to be read from its beginning.
    private static func file(with text: String) throws -> Int32 {
        var name = Array("\(FileManager.default.temporaryDirectory.path)/ble-input-XXXXXX".utf8CString)
        let file = mkstemp(&name)
        guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        unlink(name)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        let octets = Array(text.utf8)
        guard write(file, octets, octets.count) == octets.count, lseek(file, 0, SEEK_SET) == 0 else {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        return file
    }

    private static func makePipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func makeTerminal(
        columns: UInt16,
        isRaw: Bool = true
    ) throws -> (reading: Int32, writing: Int32) {
        var (reading, writing): (Int32, Int32) = (0, 0)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        // A line ends as it does in a pipe.
        var mode = termios()
        cfmakeraw(&mode)
        cfsetspeed(&mode, speed_t(B38400))
        let status =
            isRaw
            ? openpty(&reading, &writing, nil, &mode, &size) : openpty(&reading, &writing, nil, nil, &size)
        guard status == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        for end in [reading, writing] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (reading, writing)
    }

    private static func spawn(
        _ words: [String],
        input: Int32,
        output: Int32,
        errors: Int32,
        environment: [String: String]
    ) throws -> pid_t {
        defer { close(input) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let strings = words.map { strdup($0) }
        let variables = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for string in strings + variables { free(string) } }
        var process = pid_t()
        let failure = posix_spawn(&process, words[0], &actions, &attributes, strings + [nil], variables + [nil])
        guard failure == 0 else { throw POSIXError(.init(rawValue: failure) ?? .ENOENT) }
        return process
    }

    /// Waits for the end of a child; minus the number of the signal that ended it, where one did.
    static func exitStatus(of process: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F))
            }
        }
    }
}
