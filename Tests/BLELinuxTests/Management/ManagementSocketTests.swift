import BLEProtocol
import BLERadio
import Dispatch
import RadioDoubles
import Testing

@testable import BLELinux

/// The management socket's own part: events to their observers, and what the kernel had no room for.
@Suite(.timeLimit(.minutes(10))) struct ManagementSocketTests {
    private enum Heard: Equatable {
        case found(Int8)
        case lost(Int)
    }

    /// Device Found with this RSSI, of the controller with this number (mgmt-api.txt, Device Found Event).
    private static func found(_ rssi: Int8, index: UInt8 = 0) -> [UInt8] {
        [0x12, 0, index, 0, 14, 0] + [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 2, UInt8(bitPattern: rssi)]
            + [UInt8](repeating: 0, count: 6)
    }

    private func listen(
        _ near: UDPSocket,
        _ loop: EventLoop,
        _ timeline: any Timeline = PatientTimeline()
    ) throws -> (ManagementSocket, Events<Heard>) {
        let socket = try ManagementSocket(over: near.duplicate(), loop: loop, timeline: timeline) {
            ManagementIndex(rawValue: 0)
        }
        let heard = Events<Heard> { tell in
            socket.observe { events in
                for case .deviceFound(let found) in events.map(\.event) { tell(.found(found.rssi ?? 0)) }
            } lost: {
                tell(.lost($0))
            }
        }
        return (socket, heard)
    }

    @Test func `events come in order, those of other adapters to nobody`() async throws {
        let (near, far) = try UDPSocket.pair()
        let (socket, heard) = try listen(near, try EventLoop(name: "test"))
        for number in Int8(1)...100 {
            try far.shared.descriptor.send(Self.found(-number, index: 1))
            try far.shared.descriptor.send(Self.found(-number))
        }
        for number in Int8(1)...100 { #expect(await heard.next() == .found(-number)) }
        withExtendedLifetime(socket) {}
    }

    @Test func `an adapter that was seen under its new number is told what happened under the old one`() async throws {
        let (near, far) = try UDPSocket.pair()
        let numbers = FakeRun.Collector<UInt16>()
        let loop = try EventLoop(name: "test")
        let socket = try ManagementSocket(over: near.duplicate(), loop: loop, timeline: PatientTimeline()) {
            ManagementIndex(rawValue: numbers.all.last ?? 0)
        }
        let heard = Events<String> { tell in
            socket.observe { events in
                for event in events.map(\.event) {
                    switch event {
                    case .deviceFound(let found): tell("\(found.rssi ?? 0)")
                    case .indexRemoved: tell("removed")
                    default: break
                    }
                }
            }
        }
        numbers.add(1)
        let removed: [UInt8] = [0x05, 0, 0, 0, 0, 0]
        // Behind the removal, the old number is another adapter's.
        let told = [Self.found(-1), removed, Self.found(-2), removed, Self.found(-3, index: 1), Self.found(-4)]
        for datagram in told + [Self.found(-5, index: 1)] { try far.shared.descriptor.send(datagram) }
        for expected in ["-1", "removed", "-3", "-5"] { #expect(await heard.next() == expected) }
        withExtendedLifetime(socket) {}
    }

    @Test func `what the kernel dropped is told where it is missing`() async throws {
        let (near, far) = try UDPSocket.pair()
        try near.shrinkReceiveQueue()
        near.shared.descriptor.askForReceptionFacts()
        // Nobody reads yet: the queue takes a few, and drops the rest.
        let count = 300
        for _ in 0..<count { try far.shared.descriptor.send(Self.found(-50)) }
        let loop = try EventLoop(name: "test")
        let isReady = DispatchSemaphore(value: 0)
        loop.enqueue { isReady.wait() }
        let (socket, heard) = try listen(near, loop)
        isReady.signal()
        var order: [Heard] = []
        while let event = await heard.next() {
            // The queue has been read, and has room again.
            if order.isEmpty { try far.shared.descriptor.send(Self.found(-60)) }
            order.append(event)
            if event == .found(-60) { break }
        }
        let lost = order.compactMap { if case .lost(let count) = $0 { count } else { nil } }
        #expect(lost.count == 1)
        #expect(try #require(lost.first) > 0 && lost[0] < count)
        #expect(order.suffix(2) == [.lost(lost[0]), .found(-60)])
        withExtendedLifetime(socket) {}
    }

    // MARK: - Where much comes

    private let timeline = HandTimeline(step: .milliseconds(1))

    /// Sends events, each when the one before it has arrived, until reading pauses.
    private func sendUntilItPauses(
        _ far: borrowing FileDescriptor,
        _ heard: Events<Heard>,
        _ loop: EventLoop
    ) async throws {
        for number in Int8(1)...9 {
            #expect(timeline.delays == [])
            try far.send(Self.found(-number))
            #expect(await heard.next() == .found(-number))
            await loop.turn()
        }
        #expect(timeline.delays == [ReadingPace.ofAdvertisements.interval])
    }

    @Test func `where much comes, some milliseconds of it are read together`() async throws {
        let (near, far) = try UDPSocket.pair()
        let loop = try EventLoop(name: "test")
        let (socket, heard) = try listen(near, loop, timeline)
        try await sendUntilItPauses(far.shared.descriptor, heard, loop)
        let batches = Events<Int> { tell in socket.observe { tell($0.count) } }
        for number in Int8(11)...20 { try far.shared.descriptor.send(Self.found(-number)) }
        await loop.turn()
        #expect(batches.count == 0)
        timeline.fire(ReadingPace.ofAdvertisements.interval)
        for number in Int8(11)...20 { #expect(await heard.next() == .found(-number)) }
        #expect(await batches.next() == 10)
        // Once nothing comes any more, it waits for the next one again.
        await loop.turn()
        timeline.fire(ReadingPace.ofAdvertisements.interval)
        await loop.turn()
        #expect(timeline.delays == [])
        try far.shared.descriptor.send(Self.found(-21))
        #expect(await heard.next() == .found(-21))
        withExtendedLifetime(socket) {}
    }

    @Test func `a command isn't kept waiting for its answer`() async throws {
        let (near, far) = try UDPSocket.pair()
        let loop = try EventLoop(name: "test")
        let (socket, heard) = try listen(near, loop, timeline)
        try await sendUntilItPauses(far.shared.descriptor, heard, loop)
        let answers = Events<Bool> { tell in
            socket.submit(ManagementReadVersion()) { tell((try? $0.get()) != nil) }
            return RadioActivity {}
        }
        try far.shared.descriptor.send(Self.found(-30))
        #expect(await heard.next() == .found(-30))
        // Command Complete (mgmt-api.txt), for Read Management Version Information: 1.22.
        try far.shared.descriptor.send([0x01, 0, 0, 0, 6, 0, 0x01, 0, 0, 1, 22, 0])
        #expect(await answers.next() == true)
        withExtendedLifetime(socket) {}
    }

    @Test func `an end is noticed during a pause`() async throws {
        let numbers = try SocketPair.numbers()
        var far: FileDescriptor? = FileDescriptor(owning: numbers.far)
        let loop = try EventLoop(name: "test")
        let socket = try ManagementSocket(
            over: FileDescriptor(owning: numbers.near),
            loop: loop,
            timeline: timeline
        ) { ManagementIndex(rawValue: 0) }
        let heard = Events<Heard> { tell in
            socket.observe { events in
                for case .deviceFound(let found) in events.map(\.event) { tell(.found(found.rssi ?? 0)) }
            }
        }
        if let far { try await sendUntilItPauses(far, heard, loop) }
        far = nil
        await loop.turn()
        #expect(timeline.delays == [])
        withExtendedLifetime(socket) {}
    }
}
