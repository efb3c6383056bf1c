import BLELinux
import BLEProtocol
import BLERadio
import BLEStreams
import CBenchmarks
import Dispatch
import FoundationEssentials
import Glibc

/// The instructions that decoding one PDU or event takes: callgrind counts them, and they repeat exactly.
///
/// The program runs itself under valgrind, twice, with different counts: the difference belongs to the elements alone.
/// What is counted never waits, and so stays on one thread.
struct Instructions {
    private let suite = "instructions"

    /// What can be counted; the names are those of the option that the program calls itself with.
    enum Path: String, CaseIterable {
        case notification
        case lone
        case each
        case radio
        case anywhere
        case advertisement
        case read
        case write
        case indication
        case chunk
        case operators
        case command
        case session
        case served
        case unwanted
        case scans

        /// Whether threads wake each other on it: it takes a little more or less each time.
        var hasTwoThreads: Bool { self == .anywhere }

        var name: String {
            switch self {
            case .notification: "a notification's octets to its consumer's buffer"
            case .lone: "a notification that is waited for, handed over on the radio's thread"
            case .each: "  the same, by receive"
            case .radio: "  from a socket, to a loop on the radio's thread"
            case .anywhere: "  from a socket, to a loop anywhere"
            case .advertisement: "an event's octets to a report"
            case .read: "a read, its answer there at once"
            case .write: "a write without response"
            case .indication: "an indication with its confirmation"
            case .chunk: "a chunk of a message, through assembled(until:)"
            case .operators: "a value through filter, map and timeout"
            case .command: "a command through a queue"
            case .session: "a session's value"
            case .served: "a server's notification to one central"
            case .unwanted: "an advertisement that nobody wants"
            case .scans: "an advertisement of 200 devices' among five scans"
            }
        }
    }

    /// What one value costs on a path.
    struct Count {
        let path: Path
        let instructions: Int
        let allocations: Double
    }

    /// Has the C library copy and compare memory in the same way on all processors. Valgrind shows a program the
    /// processor that it runs on, up to AVX2, and the library chooses by that: 3 % of a write.
    private static let plainLibrary = [
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS"
    ]

    private static let valgrind = "/usr/bin/valgrind"
    private static let strip = "/usr/bin/strip"

    func run() throws -> [Row] {
        (try counts() ?? []).map { count in
            Row(suite, count.path.name, .instructions, [Double(count.instructions)], allocations: count.allocations)
        }
    }

    /// Counts all paths; `nil` where there is no valgrind.
    func counts() throws -> [Count]? {
        for tool in [Self.valgrind, Self.strip] where !FileManager.default.isExecutableFile(atPath: tool) {
            say("instructions: there is no \(tool), nothing is counted", on: STDERR_FILENO)
            return nil
        }
        // Valgrind 3.19 gives up on the debugging information of Swift 6.
        let copy = FileManager.default.temporaryDirectory.appending(path: "Benchmarks-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        _ = try output(of: Self.strip, ["--strip-debug", "-o", copy, try ChildProcess.itself])
        return try Path.allCases.map { path in
            let (few, many) = (1_000, 11_000)
            let (least, most) = (try count(copy, path, few), try count(copy, path, many))
            return Count(
                path: path,
                instructions: (most.instructions - least.instructions) / (many - few),
                allocations: Double(most.allocations - least.allocations) / Double(many - few)
            )
        }
    }

    private func count(
        _ program: String,
        _ path: Path,
        _ elements: Int
    ) throws -> (instructions: Int, allocations: Int) {
        let text = try output(
            of: Self.valgrind,
            ["--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--decode", path.rawValue, "\(elements)"]
        )
        // "==1234== Collected : 567890"
        guard let instructions = Self.number(in: text, after: "Collected :"),
            let allocations = Self.number(in: text, after: Self.allocationsAre)
        else { throw NoCount(output: text) }
        return (instructions, allocations)
    }

    private static let allocationsAre = "allocations:"

    private static func number(in text: String, after words: String) -> Int? {
        text.split(separator: "\n").last { $0.contains(words) }?.split(separator: " ").last.flatMap { Int($0) }
    }

    /// What a program says on its standard error.
    private func output(of program: String, _ arguments: [String]) throws -> String {
        try ChildProcess.output(STDERR_FILENO, of: program, arguments, environment: Self.plainLibrary)
    }

    struct NoCount: Error { let output: String }

    /// Blocks the first thread: valgrind 3.19 doesn't survive what libdispatch has it do otherwise.
    static func decodeAndExit(_ path: Path, _ count: Int) -> Never {
        let isDone = DispatchSemaphore(value: 0)
        CBenchmarks_countAllocations(true)
        Task.detached {
            try await decode(path, count)
            isDone.signal()
        }
        isDone.wait()
        say("\(allocationsAre) \(CBenchmarks_allocations())", on: STDERR_FILENO)
        exit(0)
    }

    /// What is counted; the whole program when it is called with `--decode`.
    private static func decode(_ path: Path, _ count: Int) async throws {
        switch path {
        case .advertisement: _ = Advertising.parse(count)
        case .notification: try await receive(count)
        case .lone: try await receiveEach(count)
        case .each: try await receiveByClosure(count)
        case .radio: try await receiveFromSocket(count, onItsThread: true)
        case .anywhere: try await receiveFromSocket(count, onItsThread: false)
        case .read: try await use { link, _ in for _ in 0..<count { _ = try await link.read(.handle(3)) } }
        case .write:
            let value = [UInt8](repeating: 7, count: 20)
            try await use { link, _ in
                for _ in 0..<count { try await link.write(value, to: .handle(3), .withoutResponse) }
            }
        case .indication: try await indicate(count)
        case .chunk:
            let last: [UInt8] = [0x1B, 3, 0] + [UInt8](repeating: 7, count: 17) + Array("EOM".utf8)
            try await chain(count, each: 10, last: last) { $0.assembled(until: .endOfMessage(atEndOfChunk: "EOM")) }
        case .operators:
            try await chain(count) { $0.filter { !$0.isIndication }.map { $0.count }.timeout(.seconds(10)) }
        case .command: try await queue(count)
        case .session: try await session(count)
        case .served: try await serve(count)
        case .unwanted: try await pass(count)
        case .scans: try await scan(count)
        }
    }

    static func use(_ body: (Link, DirectLink) async throws -> Void) async throws {
        let radio = DirectRadio()
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(radio.link.peer).withLink { try await body($0, radio.link) }
    }

    /// Batches of notifications from a link to a loop, as a socket's are handed over.
    private static func receive(_ count: Int) async throws {
        try await use { link, radio in
            _ = try await link.discover()
            var iterator = link.notifications(of: .handle(3), buffer: .unbounded).makeAsyncIterator()
            let size = 50
            // The subscription is made by the first call of `next()`; the link has this batch for it then.
            radio.afterSubscription = Array(repeating: octets, count: size)
            for _ in 0..<count / size {
                for _ in 0..<size {
                    guard let value = try await iterator.next(), value.count == 20 else { throw Missing() }
                }
                // One copy: small PDUs that come together from a socket share their storage.
                let shared = Array(repeating: octets, count: size).flatMap { $0 }
                var pdus = ReceivedPDUs()
                pdus.reserveCapacity(size)
                let array = pdus.add(shared)
                for start in stride(from: 0, to: shared.count, by: octets.count) {
                    pdus.append(start..<start + octets.count, ofArray: array, time: DirectLink.time)
                }
                radio.bring(pdus)
            }
        }
    }

    /// Notifications that come one at a time, each to a loop that waits for it.
    private static func receiveEach(_ count: Int) async throws {
        let loop = try EventLoop(name: "benchmarks")
        try await withTaskExecutorPreference(loop) {
            try await use { link, radio in
                var iterator = link.notifications(of: .handle(3), buffer: .unbounded).makeAsyncIterator()
                radio.afterSubscription = [octets]
                for _ in 0..<count {
                    guard let value = try await iterator.next(), value.count == 20 else { throw Missing() }
                    loop.enqueue { radio.bring([octets]) }
                }
            }
        }
    }

    /// The same by `receive`, which arranges for a cancellation once.
    private static func receiveByClosure(_ count: Int) async throws {
        let loop = try EventLoop(name: "benchmarks")
        try await withTaskExecutorPreference(loop) {
            try await use { link, radio in
                radio.afterSubscription = [octets]
                var left = count
                try? await link.notifications(of: .handle(3), buffer: .unbounded).receive { value in
                    left -= 1
                    if left == 0 || value.count != 20 { throw Missing() }
                    loop.enqueue { radio.bring([octets]) }
                }
                guard left == 0 else { throw Missing() }
            }
        }
    }
}
