import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What the kernel is asked for while peers are being connected to; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct ConnectingPeersTests {
    private static let readDefaults: [UInt8] = [0x4B, 0, 0, 0, 0, 0]
    private static let setThreeSeconds: [UInt8] = [0x4C, 0, 0, 0, 5, 0, 0x1B, 0, 2, 0xB8, 0x0B]
    private static let setElevenSeconds: [UInt8] = [0x4C, 0, 0, 0, 5, 0, 0x1B, 0, 2, 0xF8, 0x2A]
    private static let stopDiscovery: [UInt8] = [0x24, 0, 0, 0, 1, 0, 6]

    private static func stop(_ type: UInt8) -> [UInt8] { [0x24, 0, 0, 0, 1, 0, type] }

    /// Command Complete for a command, with its status and what comes with it (mgmt-api.txt, Command Complete Event).
    private static func answer(_ opcode: UInt8, _ status: UInt8, _ parameters: [UInt8] = []) -> [UInt8] {
        [1, 0, 0, 0, UInt8(3 + parameters.count), 0, opcode, 0, status] + parameters
    }

    /// Discovering: on or off.
    private static func discovering(_ isOn: Bool, type: UInt8 = 6) -> [UInt8] {
        [0x13, 0, 0, 0, 2, 0, type, isOn ? 1 : 0]
    }

    private struct Bench {
        let kernel: UDPSocket
        let peers: ConnectingPeers
        let management: ManagementSocket
        /// What the kernel is sent.
        let commands: Events<[UInt8]>
        let loop: EventLoop
        let timeline = HandTimeline()

        init() throws {
            let (near, far) = try UDPSocket.pair()
            let loop = try EventLoop(name: "test")
            management = try ManagementSocket(over: near.duplicate(), loop: loop, timeline: RealTimeline()) {
                ManagementIndex(rawValue: 0)
            }
            peers = ConnectingPeers(management: management, timeline: timeline)
            commands = Events { tell in
                _ = try? loop.register(far.shared.descriptor, for: .readable) { _, _ in
                    while let command = try? far.shared.descriptor.read(100), !command.isEmpty { tell(command) }
                }
                return RadioActivity {}
            }
            kernel = far
            self.loop = loop
        }

        func say(_ packet: [UInt8]) throws { try kernel.shared.descriptor.send(packet) }

        /// Until what the kernel has said is known.
        func settle() async throws {
            let heard = Events<Void> { tell in
                management.observe { events in
                    for case .controllerError in events.map(\.event) { tell(()) }
                }
            }
            try say([3, 0, 0, 0, 1, 0, 0])
            _ = await heard.next()
        }
    }

    @Test func `the kernel's patience is set where the kernel has one`() async throws {
        let bench = try Bench()
        let attempt = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.readDefaults)
        try bench.say(Self.answer(0x4B, 0, [0x1B, 0, 2, 0x20, 0x4E]))
        #expect(await bench.commands.next() == Self.setThreeSeconds)
        try bench.say(Self.answer(0x4C, 0))
        attempt.cancel()
        #expect(bench.timeline.delays.isEmpty)
        // From now on it need not be asked.
        let next = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.setThreeSeconds)
        try bench.say(Self.answer(0x4C, 0))
        bench.timeline.fire()
        #expect(await bench.commands.next() == Self.setElevenSeconds)
        next.cancel()
    }

    @Test(arguments: [[0], [20], [1]] as [[UInt8]])
    func `nothing is set where the kernel has none, or this program may not`(_ status: [UInt8]) async throws {
        let bench = try Bench()
        let attempt = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.readDefaults)
        try bench.say(Self.answer(0x4B, status[0]))
        try await bench.settle()
        attempt.cancel()
        let next = bench.peers.begin(failures: 0)
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.stopDiscovery)
        next.cancel()
    }

    @Test func `the kernel is asked again after the adapter was unplugged meanwhile`() async throws {
        let bench = try Bench()
        let attempt = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.readDefaults)
        // Invalid Index.
        try bench.say(Self.answer(0x4B, 17))
        try await bench.settle()
        attempt.cancel()
        let next = bench.peers.begin(failures: 0)
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.readDefaults)
        next.cancel()
    }

    @Test func `a discovery is interrupted once, and not where nobody discovers`() async throws {
        let bench = try Bench()
        // Nothing is known yet: better once too often.
        bench.peers.interruptDiscovery()
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.stopDiscovery)
        try bench.say(Self.answer(0x24, 0x0B, [6]))
        try await bench.settle()
        bench.peers.interruptDiscovery()
        try bench.say(Self.discovering(true))
        try await bench.settle()
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.stopDiscovery)
        try bench.say(Self.answer(0x24, 0, [6]))
        try bench.say(Self.discovering(false))
        try await bench.settle()
        bench.peers.interruptDiscovery()
        let attempt = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.readDefaults)
        attempt.cancel()
    }

    /// bluetoothd also discovers devices of Bluetooth Classic, where the adapter has that.
    @Test(arguments: [1, 7] as [UInt8]) func `a discovery is interrupted by its own type`(_ type: UInt8) async throws {
        let bench = try Bench()
        try bench.say(Self.discovering(true, type: type))
        try await bench.settle()
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.stop(type))
        try bench.say(Self.answer(0x24, 0, [type]))
        try bench.say(Self.discovering(false, type: type))
        try await bench.settle()
        bench.peers.interruptDiscovery()
        let attempt = bench.peers.begin(failures: 0)
        #expect(await bench.commands.next() == Self.readDefaults)
        attempt.cancel()
    }

    @Test func `a discovery whose beginning was not seen is interrupted by the type that it has`() async throws {
        let bench = try Bench()
        bench.peers.interruptDiscovery()
        // Invalid Parameters: it has another type.
        for type in [6, 7, 1] as [UInt8] {
            #expect(await bench.commands.next() == Self.stop(type))
            try bench.say(Self.answer(0x24, 0x0D, [type]))
        }
        try await bench.settle()
        // It has none of these, and may have ended by now.
        bench.peers.interruptDiscovery()
        #expect(await bench.commands.next() == Self.stopDiscovery)
    }
}
