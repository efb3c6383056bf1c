import BLESimulator
import BLEStreams
import Synchronization
import Testing

@testable import ble

/// Clients of one proxy that want the same, and an adapter that isn't there all the time.
@Suite(.timeLimit(.minutes(10))) struct ProxySharingTests {
    private let free = PlainClient.Places(free: 1, limit: 1, used: [])

    @Test(arguments: [false, true])
    func `two clients hold one device, and one that leaves takes nothing from the other`(isPolite: Bool) async throws {
        try await ProxyBench.run(connections: 1) { bench in
            let (first, second) = (try bench.client(), try bench.client())
            try second.send(80) { _ in }
            #expect(try await second.places() == free)
            try first.connect()
            #expect(try await first.connection() == .there)
            #expect(try await second.places() == PlainClient.Places(free: 0, limit: 1, used: octets("bbbbe8b8a19e31")))
            try second.connect()
            #expect(try await second.connection() == .there)
            #expect(bench.adapter.activity.links == [ProxyBench.device])
            // The device counts once, and takes the only place.
            try first.connect(to: BluetoothAddress(rawValue: 0xC4F2_171A_1D00, kind: .random))
            #expect(try await first.connection() == .none(error: 0x80))
            for client in [first, second] {
                #expect(try await client.read(bench.handle) == [7])
                try await client.subscribe(bench.handle)
            }
            try await bench.server.notify([1], of: ProxyBench.value)
            for client in [first, second] { #expect(try await client.message(79).octets(3) == [1]) }

            if isPolite {
                try first.disconnect()
                #expect(try await first.connection() == .none(error: 0x16))
            } else {
                first.leave()
                #expect(try await bench.departure() == 1)
            }
            try await bench.server.notify([2], of: ProxyBench.value)
            #expect(try await second.message(79).octets(3) == [2])
            #expect(try await second.read(bench.handle) == [7])
            #expect(bench.adapter.activity.links == [ProxyBench.device])

            try second.disconnect()
            // It was not told that it had joined the first one, or that this has left.
            #expect(try await second.places() == free)
            let states = bench.host.central.peripheral(ProxyBench.device).connectionStates
            _ = try await states.first { if case .disconnected = $0 { true } else { false } }
            #expect(bench.adapter.activity.links.isEmpty)
        }
    }

    @Test func `a client that switches notifications off leaves those of another one on`() async throws {
        try await ProxyBench.run { bench in
            let (first, second) = (try bench.client(), try bench.client())
            for client in [first, second] {
                try client.connect()
                #expect(try await client.connection() == .there)
                try await client.subscribe(bench.handle)
            }
            // As clients of an ESP32 do: the descriptor, then the subscription.
            let configuration = bench.handle + 1
            try await first.writeDescriptor(configuration, [0, 0])
            #expect(try await second.read(configuration, descriptor: true) == [1, 0])
            try first.unsubscribe(bench.handle)
            _ = try await first.read(bench.handle)
            try await first.writeDescriptor(configuration, [0, 0])
            try await bench.server.notify([1], of: ProxyBench.value)
            #expect(try await second.message(79).octets(3) == [1])

            // The last one's goes to the device.
            try await second.writeDescriptor(configuration, [0, 0])
            #expect(try await second.read(configuration, descriptor: true) == [0, 0])
        }
    }

    @Test func `a client that asks for what it has is told so, and keeps it`() async throws {
        try await ProxyBench.run(connections: 1) { bench in
            let client = try bench.client()
            for _ in 0..<3 {
                try client.connect()
                #expect(try await client.connection() == .there)
                #expect(try await client.read(bench.handle) == [7])
            }
            try client.disconnect()
            #expect(try await client.connection() == .none(error: 0x16))
            // There is nothing left to end.
            try client.disconnect()
            #expect(try await client.connection() == .none(error: 0))
        }
    }

    @Test func `a client that disconnects and connects at once hears of the end first, then of the beginning`()
        async throws
    {
        try await ProxyBench.run(connections: 1) { bench in
            let client = try bench.client()
            try client.connect()
            #expect(try await client.connection() == .there)
            for _ in 0..<3 {
                try client.disconnect()
                try client.connect()
                #expect(try await client.connection() == .none(error: 0x16))
                #expect(try await client.connection() == .there)
                #expect(try await client.read(bench.handle) == [7])
            }
        }
    }

    @Test func `a proxy outlives its adapter's absence, and its clients hear again when that is back`() async throws {
        try await ProxyBench.run { bench in
            let client = try bench.client()
            try client.send(66) { $0.field(1, 1 as UInt64) }
            _ = try await client.message(93)
            try client.connect()
            #expect(try await client.connection() == .there)

            bench.adapter.powerOff()
            let end = try await client.connection()
            #expect(end == .none(error: 0x16))
            try client.connect()
            #expect(try await client.connection() != .there)
            bench.adapter.powerOn()
            // What it heard before may be on its way still: this one wasn't there then.
            let newcomer = BluetoothAddress(rawValue: 0xC4F2_171A_1D42, kind: .random)
            let there = bench.air.adapter(address: newcomer)
            try await LocalPeripheral(name: "New") {}.run(on: .radio(there)) { _ in
                _ = try await client.messages { message in
                    try message.type == 93
                        && ProtobufMessage(decoding: message.octets(1)[...]).number(1) == newcomer.rawValue
                }
            }
            try client.connect()
            #expect(try await client.connection() == .there)
            #expect(try await client.read(bench.handle) == [7])
        }
    }

    @Test func `a client whose scan is refused for good is told, and keeps its connections`() async throws {
        try await ProxyBench.run(through: ScanlessRadio.init) { bench in
            let client = try bench.client()
            try client.connect()
            #expect(try await client.connection() == .there)
            try client.send(66) { $0.field(1, 1 as UInt64) }
            // Running, then stopped.
            #expect(try await client.message(126).number(1) == 2)
            #expect(try await client.message(126).number(1) == 5)
            #expect(try await client.read(bench.handle) == [7])
            let other = try bench.client()
            try other.connect()
            #expect(try await other.connection() == .there)
        }
    }

    @Test func `a client that sends on without reading is cut off, and the others are served`() async throws {
        try await ProxyBench.run { bench in
            let (hasty, other) = (try bench.client(isPiecewise: true), try bench.client())
            // It takes no answer, so that the proxy waits with the next ones: there is room for some hundred.
            try await hasty.send(7, times: 16_384)
            try await hasty.drain()
            #expect(try await bench.departure() == 1)
            try other.send(7) { _ in }
            _ = try await other.message(8)
        }
    }

    /// A client that stays for as long as this.
    private final class Kept: Sendable { let client = Mutex<PlainClient?>(nil) }

    @Test func `a client that takes nothing doesn't keep the proxy from ending`() async throws {
        let kept = Kept()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await ProxyBench.run { bench in
                    let deaf = try bench.client(isFull: true)
                    kept.client.withLock { $0 = deaf }
                    // The answer to the second request waits, and so does what tells of the connection.
                    try deaf.connect()
                    try deaf.send(7) { _ in }
                    let states = bench.host.central.peripheral(ProxyBench.device).connectionStates
                    _ = try await states.first { $0 == .connected }
                }
            }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                Issue.record("the proxy has been waiting for its client for 60 s")
                kept.client.withLock { $0 }?.leave()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    @Test func `what a client has asked for leaves nothing behind while it stays`() async throws {
        let (count, notes, others) = (500, TaskNotes(), TaskNotes())
        try await ProxyBench.run(through: NotingRadio.telling(notes)) { bench in
            let client = try bench.client()
            for _ in 0..<count {
                try client.send(68) { message in
                    message.field(1, ProxyBench.device.rawValue)
                    message.field(2, 3 as UInt64)
                }
                _ = try await client.message(86)
            }
        }
        for _ in 0..<count { await withDiscardingTaskGroup { $0.addTask { others.add() } } }
        #expect(notes.count == count)
        // Under a sanitizer, no memory is used again, and this says nothing.
        #expect(notes.hasRepetition || !others.hasRepetition)
    }

    @Test func `what it says of a link has no remedy that only another command could carry out`() async throws {
        try await ProxyBench.run { bench in
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            let lost = try await #require(throws: BLEError.self) {
                try await bench.host.central.peripheral(ProxyBench.device).withLink { link in
                    _ = try await link.read(.handle(bench.handle))
                }
            }
            #expect(lost.messageText == "\(lost.proxyText) Run the command again.")
        }
        let late = BLEError(
            .timedOut,
            operation: "connect",
            object: "to C4:F2:17:1A:1D:BB",
            cause: "the link was not ready",
            remedy: "Restart it, or allow more time."
        )
        #expect(late.messageText.hasSuffix("Restart it, or allow more time with --timeout."))
        #expect(late.proxyText.hasSuffix("Restart it."))
        #expect(!Proxy.options.contains { $0.name == "timeout" })
    }
}
