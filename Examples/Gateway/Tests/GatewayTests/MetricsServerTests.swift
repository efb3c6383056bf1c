import Dispatch
import Glibc
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite("The page for Prometheus", .timeLimit(.minutes(5)))
struct MetricsServerTests {
    @Test("leaves its port when it is closed, even while it is asked")
    func port() async throws {
        let port = freePort()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                let (asked, ask) = AsyncStream<Void>.makeStream()
                let isClosing = DispatchSemaphore(value: 0)
                let server = try MetricsServer(port: port, report: { Issue.record("\($0)") }) {
                    ask.yield()
                    isClosing.wait()
                    return "page \(number)"
                }
                group.addTask { _ = await page(port: port) }
                for await _ in asked { break }
                async let closed: Void = server.close()
                isClosing.signal()
                await closed
            }
            try await group.waitForAll()
        }
    }

    @Test func `without a descriptor left at its start it advises more of them, and no other port`() throws {
        var system = MetricsServer.System()
        system.socket = {
            errno = EMFILE
            return -1
        }
        let error = #expect(throws: MetricsServer.ListenError.self) {
            try MetricsServer(port: 9464, system: system, report: { _ in }, text: { "" })
        }
        let text = error?.description ?? ""
        #expect(text.contains("LimitNOFILE=") && !text.contains("`metrics.port`"), "\(text)")
    }

    @Test func `on a port that another program has it advises another one`() async throws {
        let port = freePort()
        let first = try MetricsServer(port: port, report: { _ in }, text: { "" })
        let error = #expect(throws: MetricsServer.ListenError.self) {
            try MetricsServer(port: port, report: { _ in }, text: { "" })
        }
        #expect(error?.number == EADDRINUSE)
        #expect(error?.description.contains("Choose another `metrics.port`") == true)
        await first.close()
    }

    @Test(arguments: [ENFILE, ENOMEM, ENOBUFS, EACCES, EAFNOSUPPORT, EIO])
    func `each error of the start has a remedy of its own kind`(_ number: Int32) {
        let text = MetricsServer.ListenError(port: 80, number: number).description
        #expect(text.hasSuffix(".") && !text.contains("Choose another"), "\(text)")
    }

    @Test func `without a descriptor left it says so once, and goes on behind a pause`() async throws {
        let (port, shortage, reports) = (freePort(), Shortage(), Reports())
        shortage.set(true)
        let server = try MetricsServer(port: port, system: shortage.system, report: reports.add) { "the page" }
        var pauses = shortage.pauses.makeAsyncIterator()
        async let answer = page(port: port)
        await pauses.next()?()
        // It was in vain once more.
        let second = await pauses.next()
        shortage.set(false)
        second?()
        #expect(await answer.contains("the page"))
        #expect(shortage.refusals == 2)
        #expect(reports.lines.count == 1)
        #expect(reports.lines.first?.contains("port \(port)") == true)
        #expect(reports.lines.first?.contains("Raise the limit of open files") == true)
        await server.close()
    }

    @Test func `without a descriptor left it goes on when one of its connections has closed`() async throws {
        let (port, shortage, reports) = (freePort(), Shortage(), Reports())
        let server = try MetricsServer(port: port, system: shortage.system, report: reports.add) { "the page" }
        var accepted = shortage.accepted.makeAsyncIterator()
        var pauses = shortage.pauses.makeAsyncIterator()
        let idle = connectedSocket(port)
        _ = await accepted.next()
        shortage.set(true)
        async let answer = page(port: port)
        // This pause doesn't end.
        _ = await pauses.next()
        shortage.set(false)
        close(idle)
        #expect(await answer.contains("the page"))
        #expect(shortage.refusals == 1 && reports.lines.count == 1)
        await server.close()
    }

    @Test func `it leaves its port while it waits for a descriptor`() async throws {
        let (port, shortage) = (freePort(), Shortage())
        shortage.set(true)
        let server = try MetricsServer(port: port, system: shortage.system, report: { _ in }, text: { "the page" })
        var pauses = shortage.pauses.makeAsyncIterator()
        async let answer = page(port: port)
        let pause = await pauses.next()
        await server.close()
        pause?()
        #expect(await answer.isEmpty)
        let next = try MetricsServer(port: port, report: { _ in }, text: { "the next page" })
        #expect(await page(port: port).contains("the next page"))
        await next.close()
    }
}

/// What a server has reported.
private final class Reports: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    @Sendable func add(_ line: String) { state.withLock { $0.append(line) } }
}

/// A process that has no descriptor left at times; the pauses of its server end when a test says so.
private final class Shortage: Sendable {
    private let state = Mutex((isOn: false, refusals: 0))
    /// The ends of the pauses.
    let pauses: AsyncStream<@Sendable () -> Void>
    let accepted: AsyncStream<Void>
    private let pause: AsyncStream<@Sendable () -> Void>.Continuation
    private let accept: AsyncStream<Void>.Continuation

    init() {
        (pauses, pause) = AsyncStream.makeStream()
        (accepted, accept) = AsyncStream.makeStream()
    }

    /// How many connections were refused.
    var refusals: Int { state.withLock { $0.refusals } }

    func set(_ isOn: Bool) { state.withLock { $0.isOn = isOn } }

    var system: MetricsServer.System {
        var system = MetricsServer.System()
        system.accept = { [self] socket in
            let isRefused = state.withLock { state in
                if state.isOn { state.refusals += 1 }
                return state.isOn
            }
            if isRefused {
                errno = EMFILE
                return -1
            }
            accept.yield()
            return Glibc.accept(socket, nil, nil)
        }
        system.after = { [self] _, end in pause.yield(end) }
        // An idle connection ends when a test closes it, however long the machine takes for the rest.
        system.limit = { _, _, _ in }
        return system
    }
}
