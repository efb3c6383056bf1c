import BLEStreams
import Testing

@testable import BLESimulator
@testable import SimulatedWorlds

/// What a world looks for is found where it is.
@Suite(.timeLimit(.minutes(10))) struct InvariantTests {
    private static let central = BluetoothAddress(rawValue: 0xC0CE_0000_0000, kind: .random)
    private static let peripheral = BluetoothAddress(rawValue: 0xC0DE_0000_0000, kind: .random)
    private static let route = AirWatch.Route(central: 0, peripheral: 0, channel: .notified)

    private static func connected(_ watch: AirWatch, link: Int = 0) {
        watch.note(AirRecord(time: .zero, link: link, event: .connected(central: central, peripheral: peripheral)))
    }

    private static func note(
        _ octets: [UInt8],
        from role: LinkRole,
        _ fate: AirRecord.Fate = .delivered,
        at time: Duration = .zero,
        in watch: AirWatch,
        link: Int = 0
    ) {
        watch.note(AirRecord(time: time, link: link, event: .pdu(octets, from: role, fate: fate)))
    }

    private static func arrive(_ serial: UInt32, at time: Duration = .zero, in watch: AirWatch, link: Int = 0) {
        let value = NumberedValue(peripheral: 0, channel: .notified, serial: serial)
        note([0x1B, 0x10, 0x00] + value.octets, from: .peripheral, at: time, in: watch, link: link)
    }

    @Test func `a request that doesn't wait for its turn is found, and one that does is not`() {
        let watch = AirWatch(centrals: [Self.central])
        Self.connected(watch)
        for octets in [[0x0A, 0x03, 0x00], [0x0A, 0x05, 0x00]] as [[UInt8]] {
            Self.note(octets, from: .central, in: watch)
            Self.note([0x0B, 0x01], from: .peripheral, in: watch)
        }
        // Each side has a turn of its own, and so have indications.
        Self.note([0x1D, 0x10, 0x00], from: .peripheral, in: watch)
        Self.note([0x0A, 0x03, 0x00], from: .central, in: watch)
        #expect(watch.problems.isEmpty)
        Self.note([0x12, 0x03, 0x00, 0x01], from: .central, in: watch)
        #expect(watch.problems.count == 1)
        Self.note([0x1D, 0x10, 0x00], from: .peripheral, in: watch)
        #expect(watch.problems.count == 2)
    }

    @Test func `a link is used without the answer to Exchange MTU, but not at once`() {
        for (time, problems) in [(Duration.seconds(1), 1), (.seconds(5), 0)] {
            let watch = AirWatch(centrals: [Self.central])
            Self.connected(watch)
            Self.note([0x02, 0x05, 0x02], from: .central, in: watch)
            Self.note([0x0A, 0x03, 0x00], from: .central, at: time, in: watch)
            #expect(watch.problems.count == problems)
        }
    }

    @Test func `values that come long after the last consumer has left are found`() {
        let watch = AirWatch(centrals: [Self.central])
        Self.connected(watch)
        watch.began(Self.route)
        Self.arrive(0, in: watch)
        watch.ended(Self.route, at: .seconds(10))
        Self.arrive(1, at: .seconds(40), in: watch)
        #expect(watch.problems.isEmpty)
        Self.arrive(2, at: .seconds(100), in: watch)
        #expect(watch.problems.count == 1)
    }

    @Test func `a command that holds the link may keep values from being switched off, and no longer than it lasts`() {
        let watch = AirWatch(centrals: [Self.central])
        Self.connected(watch)
        watch.began(Self.route)
        Self.arrive(0, in: watch)
        watch.commandsBegan(Self.route.central, Self.route.peripheral)
        watch.ended(Self.route, at: .seconds(10))
        Self.arrive(1, at: .seconds(200), in: watch)
        watch.commandsEnded(Self.route.central, Self.route.peripheral, at: .seconds(210))
        Self.arrive(2, at: .seconds(270), in: watch)
        #expect(watch.problems.isEmpty)
        Self.arrive(3, at: .seconds(290), in: watch)
        #expect(watch.problems.count == 1)
    }

    @Test func `what is left of a subscription on an earlier link is switched off once its first value tells of it`() {
        let watch = AirWatch(centrals: [Self.central])
        Self.connected(watch)
        watch.began(Self.route)
        Self.arrive(0, in: watch)
        watch.ended(Self.route, at: .seconds(10))
        let (central, peripheral) = (Self.central, Self.peripheral)
        watch.note(
            AirRecord(time: .seconds(20), link: 1, event: .connected(central: central, peripheral: peripheral))
        )
        Self.arrive(1, at: .seconds(200), in: watch, link: 1)
        Self.arrive(2, at: .seconds(260), in: watch, link: 1)
        #expect(watch.problems.isEmpty)
        Self.arrive(3, at: .seconds(280), in: watch, link: 1)
        #expect(watch.problems.count == 1)
    }

    /// What a consumer reports that takes these values, with the gaps between them, of the ten that have arrived.
    private static func found(_ items: [Gapped<UInt32>], secondLinkFrom second: UInt32 = 10) async throws -> [String] {
        try await VirtualTime.run { time in
            let world = try await World(WorldPlan(seed: 1), time, isTraced: false)
            connected(world.watch)
            connected(world.watch, link: 1)
            for serial in UInt32(0)..<10 { arrive(serial, in: world.watch, link: serial < second ? 0 : 1) }
            let lost = DisconnectReason(.supervisionTimeout)
            world.watch.note(AirRecord(time: .zero, link: 0, event: .ended(.central, lost)))
            let consumer = Consumer(world, central: 0, "somebody", .complete)
            for item in items {
                switch item {
                case .value(let serial):
                    consumer.take(NumberedValue(peripheral: 0, channel: .notified, serial: serial).octets)
                case .gap(let gap): consumer.take(gap)
                }
            }
            return world.findings.map(\.kind)
        }
    }

    @Test func `a value that is lost, comes twice or in another order is found`() async throws {
        #expect(try await Self.found((2..<8).map { .value($0) }).isEmpty)
        #expect(try await Self.found([.value(2), .gap(StreamGap(dropped: 3)), .value(6)]).isEmpty)
        #expect(try await Self.found([.value(2), .value(4)]) == ["lost"])
        #expect(try await Self.found([.value(2), .gap(StreamGap(dropped: 2)), .value(4)]) == ["lost"])
        #expect(try await Self.found([.value(2), .value(2)]) == ["order"])
        #expect(try await Self.found([.value(3), .value(2)]) == ["order"])
        #expect(try await Self.found([.value(11)]) == ["order"])
    }

    @Test func `the last values of a link that was lost are missed`() async throws {
        let gap = StreamGap(reason: BLEError(.disconnected, operation: "test", cause: "test"), duration: .seconds(1))
        #expect(try await Self.found([.value(4), .gap(gap), .value(6)], secondLinkFrom: 5).isEmpty)
        #expect(try await Self.found([.value(3), .gap(gap), .value(6)], secondLinkFrom: 5) == ["lost"])
    }
}
