import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A link on which much comes: it is read every few milliseconds, and nobody notices but the processor.
@Suite(.timeLimit(.minutes(10)))
struct PacedLinkTests {
    private static let pause = ReadingPace.ofLinks.interval

    private let loop: EventLoop
    private let timeline = HandTimeline(step: .milliseconds(1))

    init() throws { loop = try EventLoop(name: "test") }

    private func link(over socket: SharedDescriptor) -> SocketLink {
        socket.descriptor.askForReceptionFacts()
        return SocketLink(testing: socket, loop: loop, environment: FakeEnvironment(timeline))
    }

    private func value(_ number: Int) -> [UInt8] { [0x1B, 0x10, 0x00, UInt8(number)] }

    /// Sends values, each when the one before it has arrived.
    private func send(
        _ numbers: ClosedRange<Int>,
        through far: SharedDescriptor,
        to receiver: LinkRecorder
    ) async throws {
        for number in numbers {
            try far.descriptor.send(value(number))
            #expect(await receiver.next() == .received(value(number)))
            await loop.turn()
        }
    }

    @Test func `where much comes, some milliseconds of it are read together, with the time of each`() async throws {
        let pair = try SocketPair()
        let (link, receiver) = (link(over: pair.near), LinkRecorder())
        link.start(receiver)
        try await send(1...9, through: pair.far, to: receiver)
        #expect(timeline.delays == [Self.pause])
        for number in 11...20 { try pair.far.descriptor.send(value(number)) }
        await loop.turn()
        #expect(receiver.batches == Array(repeating: 1, count: 9))
        timeline.fire(Self.pause)
        #expect(await receiver.next(10) == (11...20).map { .received(value($0)) })
        #expect(receiver.batches.last == 10 && receiver.times.allSatisfy { $0.source == .kernel })
        // Once nothing comes any more, it waits for the next one again.
        await loop.turn()
        timeline.fire(Self.pause)
        await loop.turn()
        #expect(timeline.delays == [])
        try await send(21...21, through: pair.far, to: receiver)
        link.disconnect()
    }

    @Test func `what is sent in a pause isn't kept waiting for its answer`() async throws {
        let pair = try SocketPair()
        let (link, receiver) = (link(over: pair.near), LinkRecorder())
        link.start(receiver)
        try await send(1...9, through: pair.far, to: receiver)
        #expect(timeline.delays == [Self.pause])
        #expect(link.send([0x0A, 0x10, 0x00]) == .sent)
        try pair.far.descriptor.send([0x0B, 1])
        #expect(await receiver.next() == .received([0x0B, 1]))
        link.disconnect()
    }

    @Test func `a link on which something is sent for what comes is never paused`() async throws {
        let pair = try SocketPair()
        let (link, receiver) = (link(over: pair.near), LinkRecorder())
        link.start(receiver)
        for number in 1...40 {
            try await send(number...number, through: pair.far, to: receiver)
            if number % 4 == 0 { #expect(link.send([0x52, 0x20, 0x00, UInt8(number)]) == .sent) }
            #expect(timeline.delays == [])
        }
        link.disconnect()
    }

    @Test func `where the kernel takes no times, everything is read at once`() async throws {
        let pair = try SocketPair()
        let receiver = LinkRecorder()
        let link = SocketLink(testing: pair.near, loop: loop, environment: FakeEnvironment(timeline))
        link.start(receiver)
        try await send(1...20, through: pair.far, to: receiver)
        #expect(timeline.delays == [])
        link.disconnect()
    }

    @Test(arguments: [true, false])
    func `a link that ends during a pause delivers what has come first`(_ isOurs: Bool) async throws {
        let receiver = LinkRecorder()
        do {
            let pair = try SocketPair()
            let link = link(over: pair.near)
            link.start(receiver)
            try await send(1...9, through: pair.far, to: receiver)
            for number in 11...13 { try pair.far.descriptor.send(value(number)) }
            if isOurs { link.disconnect() }
        }
        #expect(await receiver.next(3) == (11...13).map { .received(value($0)) })
        guard case .ended(let reason)? = await receiver.next() else {
            Issue.record("the link goes on")
            return
        }
        #expect((reason.kind == .closedLocally) == isOurs)
        await loop.turn()
        #expect(!timeline.delays.contains(Self.pause))
    }

    @Test func `who waits for room is told of it during a pause`() async throws {
        let pair = try SocketPair()
        let (link, receiver) = (link(over: pair.near), LinkRecorder())
        link.start(receiver)
        let pdu = [UInt8](repeating: 0x52, count: 500)
        while link.send(pdu) == .sent {}
        // The first reading finds that something was sent.
        try await send(1...10, through: pair.far, to: receiver)
        #expect(timeline.delays == [Self.pause])
        try pair.far.empty()
        #expect(await receiver.next() == .writable)
        timeline.fire(Self.pause)
        await loop.turn()
        try await send(11...11, through: pair.far, to: receiver)
        link.disconnect()
    }
}

extension SharedDescriptor {
    /// Reads all that waits.
    fileprivate func empty() throws {
        let buffer = ReceiveBuffer()
        do throws(SystemError) {
            while true { _ = try descriptor.receive(into: buffer) }
        } catch .wouldBlock {}
    }
}
