import BLEProtocol
import BLERadio
import Glibc
import Synchronization
import Testing

@testable import BLELinux

@Suite(.timeLimit(.minutes(10)))
struct SocketLinkTests {
    private let loop: EventLoop
    private let environment = FakeEnvironment()

    init() throws { loop = try EventLoop(name: "test") }

    private func link(over socket: SharedDescriptor) -> SocketLink {
        socket.descriptor.askForReceptionFacts()
        return SocketLink(testing: socket, loop: loop, environment: environment)
    }

    // MARK: Receiving

    @Test func `what came before the start is delivered in order, as one batch, with the kernel's times`() async throws
    {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let sent = (0..<50).map { [0x1B, UInt8($0), 0] }
        for pdu in sent { try pair.far.descriptor.send(pdu) }

        let receiver = LinkRecorder()
        link.start(receiver)
        #expect(await receiver.next(50) == sent.map { .received($0) })
        #expect(receiver.batches == [50])
        #expect(receiver.times.allSatisfy { $0.source == .kernel })
        #expect(receiver.times.map(\.sinceEpoch) == receiver.times.map(\.sinceEpoch).sorted())
        let age = RealTimeline().wallTime.sinceEpoch - (receiver.times.first?.sinceEpoch ?? .zero)
        #expect(age >= .zero && age < .seconds(60))
    }

    @Test func `more than a batch comes in several, none lost, none twice`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let count = 200
        let sent = (0..<count).map { [0x1B, UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        // What the socket has no room for yet is sent when it has.
        let sender = SocketLink(testing: pair.far, loop: loop)
        let writability = LinkRecorder()
        sender.start(writability)
        let receiver = LinkRecorder()
        var next = 0
        while next < count, sender.send(sent[next]) == .sent { next += 1 }
        link.start(receiver)
        while next < count {
            if sender.send(sent[next]) == .sent { next += 1 } else { #expect(await writability.next() == .writable) }
        }
        #expect(await receiver.next(count) == sent.map { .received($0) })
        #expect(receiver.batches.reduce(0, +) == count)
        #expect(receiver.batches.allSatisfy { $0 <= ReceiveBuffer.slots })
    }

    @Test func `small PDUs that come together share their storage, and long ones have their own`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let lengths = [20, 500, 23, 517, 992, 3, 0, 600, 1, 1] + Array(repeating: 23, count: 54)
        let sent = lengths.enumerated().map { number, length in [UInt8](repeating: UInt8(number), count: length) }
        for pdu in sent { try pair.far.descriptor.send(pdu) }
        let receiver = LinkRecorder()
        link.start(receiver)
        let whole = sent.filter { !$0.isEmpty }
        #expect(await receiver.next(whole.count) == whole.map { .received($0) })
    }

    @Test func `no array of received PDUs is longer than what they may share, unless one PDU is`() throws {
        let pair = try SocketPair()
        let lengths = [20, 500, 472, 1, 1000, 5]
        for length in lengths { try pair.far.descriptor.send([UInt8](repeating: UInt8(length & 0xFF), count: length)) }
        let buffer = ReceiveBuffer()
        let count = try pair.near.descriptor.receive(into: buffer)
        #expect(count == lengths.count)
        var runs: [Int] = []
        var next = 0
        while next < count {
            let run = buffer.run(from: next, of: count)
            runs.append(run.octets.count)
            #expect(run.octets == (next..<run.end).flatMap { buffer.bytes($0) })
            next = run.end
        }
        #expect(runs == [992, 1, 1000, 5])
    }

    @Test func `an empty datagram is no PDU and no end`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let receiver = LinkRecorder()
        link.start(receiver)
        try pair.far.descriptor.send([])
        try pair.far.descriptor.send([0x1B, 0x10, 0x00])
        #expect(await receiver.next() == .received([0x1B, 0x10, 0x00]))
    }

    @Test func `what the kernel dropped is told where it is missing, and at the end`() async throws {
        // Of the sockets that are at hand everywhere UDP's drop what they have no room for, as L2CAP's do.
        let (near, far) = try UDPSocket.pair()
        try near.shrinkReceiveQueue()
        let link = link(over: near.shared)

        let count = 300
        for number in 0..<count { try far.shared.descriptor.send([UInt8(number & 0xFF), UInt8(number >> 8)]) }
        let receiver = LinkRecorder()
        link.start(receiver)
        // The queue is read; then one more comes, which has the count with it.
        let marker: [UInt8] = [0xFF, 0xFF]
        var order: [LinkRecorder.Event] = []
        while let event = await receiver.next() {
            if order.isEmpty { try far.shared.descriptor.send(marker) }
            order.append(event)
            if event == .received(marker) { link.disconnect() }
        }
        let received = order.count { if case .received = $0 { true } else { false } }
        let lost = order.compactMap { if case .dropped(let lost) = $0 { lost } else { nil } }
        #expect(lost.reduce(0, +) == count + 1 - received)
        #expect(lost.count == 1)
        // The gap is where the PDUs are missing: behind what the queue had room for, before the next one.
        let gap = try #require(order.firstIndex { if case .dropped = $0 { true } else { false } })
        #expect(gap > 0 && order[gap + 1] == .received(marker))
    }

    // MARK: Sending

    @Test func `a full socket refuses whole PDUs and says when it takes them again`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let receiver = LinkRecorder()
        link.start(receiver)
        let pdu = [UInt8](repeating: 0x52, count: 500)
        var taken = 0
        while link.send(pdu) == .sent { taken += 1 }
        #expect(taken > 0)
        #expect(link.send(pdu) == .full)

        let buffer = ReceiveBuffer()
        var arrived = 0
        while let count = try? pair.far.descriptor.receive(into: buffer) {
            for index in 0..<count { #expect(buffer.bytes(index) == pdu) }
            arrived += count
        }
        #expect(arrived == taken)
        #expect(await receiver.next() == .writable)
        #expect(link.send(pdu) == .sent)
    }

    @Test func `a PDU that is refused before the start is announced after it`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let pdu = [UInt8](repeating: 0x52, count: 500)
        while link.send(pdu) == .sent {}
        let receiver = LinkRecorder()
        link.start(receiver)
        let buffer = ReceiveBuffer()
        while (try? pair.far.descriptor.receive(into: buffer)) != nil {}
        #expect(await receiver.next() == .writable)
    }

    // MARK: The end

    @Test func `a reason that sending was told is not lost: the kernel tells it once`() async throws {
        let numbers = try SocketPair.numbers()
        let link = link(over: SharedDescriptor(FileDescriptor(owning: numbers.near)))
        #expect(link.send([0x02, 23, 0]) == .sent)
        // What it has not read makes of the far end's close a reset.
        close(numbers.far)
        #expect(link.send([0x1E]) == .ended)
        let receiver = LinkRecorder()
        link.start(receiver)
        #expect(await receiver.untilEnd().reason?.systemError == ECONNRESET)
    }

    @Test func `PDUs that came before the end are delivered before it`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        for number in UInt8(0)..<5 { try pair.far.descriptor.send([0x1B, number, 0]) }
        shutdown(pair.far.descriptor.rawValue, Int32(SHUT_RDWR))
        let receiver = LinkRecorder()
        link.start(receiver)
        let (pdus, reason) = await receiver.untilEnd()
        #expect(pdus == (UInt8(0)..<5).map { [0x1B, $0, 0] })
        #expect(reason?.kind == .closedByPeer)
        #expect(link.send([0x02, 0x17, 0x00]) == .ended)
        #expect(link.security == .none)
    }

    @Test func `however many PDUs came before the end, none is lost`() async throws {
        let pair = try SocketPair()
        // Room for more than a socket's turn.
        var room: Int32 = 1 << 20
        setsockopt(pair.far.descriptor.rawValue, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        let count = SocketDrain.fairShare * ReceiveBuffer.slots + 40
        for number in 0..<count { try pair.far.descriptor.send([0x1B, UInt8(number & 0xFF), UInt8(number >> 8)]) }
        shutdown(pair.far.descriptor.rawValue, Int32(SHUT_RDWR))
        let receiver = LinkRecorder()
        link(over: pair.near).start(receiver)
        let (pdus, reason) = await receiver.untilEnd()
        #expect(pdus.count == count)
        #expect(reason?.kind == .closedByPeer)
    }

    @Test func `the end comes once, and nothing after it`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let receiver = LinkRecorder()
        link.start(receiver)
        shutdown(pair.far.descriptor.rawValue, Int32(SHUT_WR))
        #expect(await receiver.next() == .ended(DisconnectReason(.closedByPeer)))
        link.disconnect()
        link.disconnect()
        // The recorder's stream is finished by the end; a second one would have come first.
        #expect(await receiver.next() == nil)
        #expect(environment.drops.isEmpty)
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, "another thread closes it, whenever it gets to run"))
    func `whoever is told of the end finds the socket closed`() async throws {
        final class Onlooker: ATTLinkReceiver {
            let far: SharedDescriptor
            let recorder = LinkRecorder()
            let isClosed = Mutex(false)
            init(_ far: SharedDescriptor) { self.far = far }
            func linkReceived(_ pdus: ReceivedPDUs) {}
            func linkDropped(_ count: Int) {}
            func linkBecameWritable() {}
            func linkEnded(_ reason: DisconnectReason) {
                // A program that another test is just starting has a copy of the socket, for a moment.
                var far = pollfd(fd: far.descriptor.rawValue, events: 0, revents: 0)
                let count = poll(&far, 1, 10_000)
                isClosed.withLock { $0 = count == 1 && far.revents & Int16(POLLHUP) != 0 }
                recorder.linkEnded(reason)
            }
        }
        let numbers = try SocketPair.numbers()
        let onlooker = Onlooker(SharedDescriptor(FileDescriptor(owning: numbers.far)))
        let link = link(over: SharedDescriptor(FileDescriptor(owning: numbers.near)))
        link.start(onlooker)
        // One way only: the other one is shut when the socket is closed.
        shutdown(numbers.far, Int32(SHUT_WR))
        #expect(await onlooker.recorder.untilEnd().reason?.kind == .closedByPeer)
        #expect(onlooker.isClosed.withLock { $0 })
    }

    @Test func `disconnecting delivers what has come, closes the socket, then has the connection dropped`() async throws
    {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let receiver = LinkRecorder()
        link.start(receiver)
        try pair.far.descriptor.send([0x1B, 0x10, 0x00])
        link.disconnect()
        #expect(link.send([0x02, 0x17, 0x00]) == .ended)
        let (pdus, reason) = await receiver.untilEnd()
        #expect(pdus == [[0x1B, 0x10, 0x00]])
        #expect(reason?.kind == .closedLocally)
        #expect(environment.drops == [.example])
    }

    @Test func `a link that has ended before its start says so at once`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        link.disconnect()
        let receiver = LinkRecorder()
        link.start(receiver)
        #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
        #expect(environment.drops == [.example])
    }

    @Test func `a receiver may send and disconnect from within its calls`() async throws {
        final class Echo: ATTLinkReceiver {
            let link: SocketLink
            let recorder = LinkRecorder()
            init(_ link: SocketLink) { self.link = link }
            func linkReceived(_ pdus: ReceivedPDUs) {
                for pdu in pdus { #expect(link.send(Array(pdu.bytes)) == .sent) }
                link.disconnect()
            }
            func linkDropped(_ count: Int) {}
            func linkBecameWritable() {}
            func linkEnded(_ reason: DisconnectReason) { recorder.linkEnded(reason) }
        }
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let echo = Echo(link)
        link.start(echo)
        try pair.far.descriptor.send([0x1B, 0x10, 0x00])
        #expect(await echo.recorder.untilEnd().reason?.kind == .closedLocally)
        let buffer = ReceiveBuffer()
        #expect(try pair.far.descriptor.receive(into: buffer) >= 1)
        #expect(buffer.bytes(0) == [0x1B, 0x10, 0x00])
    }

    @Test func `the signal strength is asked of the radio`() async throws {
        let pair = try SocketPair()
        let link = link(over: pair.near)
        let strength = Events<Int8?> { yield in
            link.readRSSI(yield)
            return RadioActivity {}
        }
        #expect(await strength.next() == -60)
    }
}
