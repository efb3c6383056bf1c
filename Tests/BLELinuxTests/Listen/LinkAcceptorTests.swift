import BLEProtocol
import BLERadio
import Glibc
import RadioDoubles
import Synchronization
import Testing

@testable import BLELinux

/// Taking connections while the system lets the program open nothing more.
@Suite(.timeLimit(.minutes(10))) struct LinkAcceptorTests {
    /// What the acceptor has told, and how often it asked the system.
    private enum Told: Equatable {
        case accepted
        case interrupted(SystemError)
        case failed(SystemError)
    }

    /// A system whose refusals a test chooses; where there are none left it takes connections.
    private final class System: Sendable {
        private let state: Mutex<(refusals: [SystemError], calls: Int)>

        init(refusing refusals: [SystemError]) { state = Mutex((refusals, 0)) }

        var calls: Int { state.withLock { $0.calls } }

        func accept(_ descriptor: borrowing FileDescriptor) throws(SystemError) -> AcceptedSocket {
            let refusal = state.withLock { state in
                state.calls += 1
                return state.refusals.isEmpty ? nil : state.refusals.removeFirst()
            }
            if let refusal { throw refusal }
            return try descriptor.accept()
        }
    }

    private struct Bench {
        let loop: EventLoop
        let listener: LocalListener
        let timeline = HandTimeline()
        let system: System
        let told: Events<Told>

        init(refusing refusals: [SystemError]) throws {
            loop = try EventLoop(name: "test")
            listener = try LocalListener()
            let system = System(refusing: refusals)
            self.system = system
            let (loop, listener, timeline) = (loop, listener, timeline)
            told = Events { yield in
                let acceptor = LinkAcceptor(
                    listener.socket,
                    loop: loop,
                    timeline: timeline,
                    take: { (descriptor: borrowing FileDescriptor) throws(SystemError) in try system.accept(descriptor)
                    },
                    events: { event in
                        switch event {
                        case .accepted: yield(.accepted)
                        case .interrupted(let error): yield(.interrupted(error))
                        case .failed(let error): yield(.failed(error))
                        }
                    }
                )
                loop.enqueue { try? acceptor.begin() }
                return RadioActivity { loop.enqueue { acceptor.cancel() } }
            }
        }

        /// Lets the loop look at its sockets so often.
        func turns(_ count: Int) async {
            for _ in 0..<count {
                await withCheckedContinuation { continuation in loop.enqueue { continuation.resume() } }
            }
        }
    }

    @Test(arguments: [SystemError.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .noBufferSpace])
    func `a connection that can't be taken is asked for once, and again when a timer fires`(_ error: SystemError)
        async throws
    {
        let bench = try Bench(refusing: [error, error, error])
        try bench.listener.connect()
        #expect(await bench.told.next() == .interrupted(error))
        // The socket is readable all the time, and nobody looks.
        await bench.turns(100)
        #expect(bench.system.calls == 1)
        for calls in 2...3 {
            #expect(bench.timeline.delays == [LinkAcceptor.pause])
            bench.timeline.fire()
            await bench.turns(100)
            #expect(bench.system.calls == calls)
        }
        // It is told once; then the connection that has waited is taken.
        bench.timeline.fire()
        #expect(await bench.told.next() == .accepted)
        await bench.turns(10)
        // The last call found nobody.
        #expect(bench.system.calls == 5 && bench.timeline.delays.isEmpty)
        try bench.listener.connect()
        #expect(await bench.told.next() == .accepted)
    }

    @Test func `who has left before its turn keeps nobody waiting`() async throws {
        let bench = try Bench(refusing: [.connectionAborted])
        try bench.listener.connect()
        #expect(await bench.told.next() == .accepted)
        #expect(bench.timeline.delays.isEmpty)
    }

    @Test func `a socket that is of no use any more is told, and asked no more`() async throws {
        let bench = try Bench(refusing: [.invalidArgument])
        try bench.listener.connect()
        #expect(await bench.told.next() == .failed(.invalidArgument))
        await bench.turns(100)
        #expect(bench.system.calls == 1)
    }

    @Test func `cancelling ends the pause`() async throws {
        let bench = try Bench(refusing: [.tooManyOpenFiles])
        try bench.listener.connect()
        #expect(await bench.told.next() == .interrupted(.tooManyOpenFiles))
        bench.told.activity.cancel()
        await bench.turns(2)
        #expect(bench.timeline.delays.isEmpty)
        bench.timeline.fire()
        await bench.turns(10)
        #expect(bench.system.calls == 1)
    }

    @Test func `of two claims on an adapter the second fails, until the first is given up`() throws {
        let name = "test \(getpid())"
        var first: AdapterClaim? = try AdapterClaim(of: name)
        #expect(throws: SystemError.addressInUse) { _ = try AdapterClaim(of: name) }
        _ = try AdapterClaim(of: name + "b")
        #expect(first != nil)
        first = nil
        _ = try AdapterClaim(of: name)
    }
}
