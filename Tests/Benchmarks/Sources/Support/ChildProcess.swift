import FoundationEssentials
import Glibc

/// Another program, run to its end.
///
/// Not by Foundation's `Process`: what a gateway weighs is measured in this program, and the whole of Foundation weighs
/// more than all of a gateway's sessions.
enum ChildProcess {
    /// The program that runs.
    static var itself: String {
        get throws { try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }
    }

    /// What a program writes to one of its outputs; the other one goes nowhere.
    ///
    /// - Throws: `POSIXError` if it can't be started.
    static func output(
        _ descriptor: Int32 = STDOUT_FILENO,
        of program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> String {
        var pipe: [Int32] = [-1, -1]
        // One program at a time is started: none inherits the ends of another one's pipe.
        try check(Glibc.pipe(&pipe) == 0 ? 0 : errno)
        defer { close(pipe[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO + STDERR_FILENO - descriptor, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipe[1], descriptor)
        for end in pipe { posix_spawn_file_actions_addclose(&actions, end) }
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var process: pid_t = 0
        let result = withCStrings([program] + arguments) { words in
            withCStrings(variables) { posix_spawn(&process, program, &actions, nil, words, $0) }
        }
        close(pipe[1])
        try check(result)
        var (octets, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
        while case let count = read(pipe[0], &buffer, buffer.count), count > 0 || count < 0 && errno == EINTR {
            octets += buffer.prefix(max(0, count))
        }
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
        return String(decoding: octets, as: UTF8.self)
    }

    private static func check(_ number: Int32) throws {
        if number != 0 { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
    }

    /// Lends texts as a list for C, with a null pointer at its end.
    private static func withCStrings<Output>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Output
    ) -> Output {
        let pointers = texts.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}

/// Writes a line at once, to the standard output or another descriptor.
func say(_ line: String, on descriptor: Int32 = STDOUT_FILENO) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty, case let count = rest.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }),
        count > 0
    {
        rest = rest.dropFirst(count)
    }
}
