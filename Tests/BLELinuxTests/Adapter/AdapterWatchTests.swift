import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What is told of an adapter that others switch off and on; the test is the kernel.
@Suite(.timeLimit(.minutes(10))) struct AdapterWatchTests {
    private static let off: [UInt8] = [0x00, 0x02, 0, 0]
    private static let on: [UInt8] = [0x01, 0x02, 0, 0]

    private let kernel: KernelDouble
    private let table = TableDouble()
    private let watch: AdapterWatch

    init() throws {
        kernel = try KernelDouble()
        table.plug(0, 0x00AA_0101_0001)
        watch = AdapterWatch(
            try LinuxAdapter("hci0", socket: nil, refusal: nil, table: table),
            management: kernel.management,
            loop: kernel.loop,
            timeline: kernel.timeline
        )
    }

    /// What is told, up to and with the last of these.
    private func told(_ count: Int, during act: () throws -> Void) async rethrows -> [AdapterInfo.State] {
        let (stream, continuation) = AsyncStream<AdapterInfo>.makeStream()
        let observation = watch.observe { continuation.yield($0) }
        defer { observation.cancel() }
        var iterator = stream.makeAsyncIterator()
        var states: [AdapterInfo.State] = []
        if let first = await iterator.next() { states.append(first.state) }
        try act()
        while states.count < count, let next = await iterator.next() { states.append(next.state) }
        return states
    }

    @Test func `that it was off is told, also where it is on again by the time it is asked`() async throws {
        let states = try await told(3) {
            try kernel.tell(0x06, Self.off)
            try kernel.tell(0x06, Self.on)
        }
        #expect(states == [.poweredOn, .poweredOff, .poweredOn])
    }

    @Test func `one that is off is told once, however often the kernel says it`() async throws {
        let states = try await told(3) {
            table.power(0, false)
            try kernel.tell(0x06, Self.off)
            try kernel.tell(0x06, Self.off)
            kernel.loop.enqueue { [table, watch] in
                table.power(0, true)
                watch.look()
            }
        }
        #expect(states == [.poweredOn, .poweredOff, .poweredOn])
    }

    /// Under the same number, and under another one.
    @Test(arguments: [0, 1] as [UInt16])
    func `that it was unplugged is told, also where it is there again by the time it is asked`(
        _ number: UInt16
    ) async throws {
        let states = await told(3) {
            table.unplug(0)
            table.plug(number, 0x00AA_0101_0001)
            kernel.loop.enqueue { [table, watch] in
                watch.look()
                // Something follows in any case.
                for isOn in [false, true] {
                    table.power(number, isOn)
                    watch.look()
                }
            }
        }
        #expect(states == [.poweredOn, .absent, .poweredOn])
    }

    @Test(arguments: [AdapterInfo.State.poweredOff, .blocked])
    func `an error names what was told of it, though it is on again`(_ state: AdapterInfo.State) throws {
        let adapter = try LinuxAdapter("hci0", socket: nil, refusal: nil, table: table)
        let error = adapter.whyUnusable(for: "listen", object: "hci0", told: state)
        #expect(error.code == (state == .blocked ? .adapterBlocked : .adapterPoweredOff))
    }
}
