import BLESimulator
import BLEStreams
import Testing

/// A peripheral with robust caching sends nothing from a change of its services until the central has learned of that
/// (Core Specification, Vol 3, Part G, 2.5.2.1): what it would have sent is missing in streams that go on.
@Suite(.timeLimit(.minutes(10))) struct WithheldValuesTests {
    private static let added =
        Bench.description.services + [
            LocalService(BluetoothUUID(0xD000)) { LocalCharacteristic(BluetoothUUID(0xD001), [.read]) }
        ]

    /// Sends these values to whoever subscribes, and replaces the services behind the first one: when the central has
    /// asked for robust caching, but has not subscribed to Service Changed yet. What it may not send is lost.
    private static func sending(
        _ values: [[UInt8]],
        _ withheld: Recorder<[UInt8]>
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for (index, value) in values.enumerated() {
                    do {
                        try await server.notify(value, of: Bench.notifying, to: change.central)
                    } catch let error as BLEError where error.code == .busy {
                        withheld.add(value)
                    }
                    try await bench.time.sleep(for: index == 0 ? .milliseconds(80) : .seconds(1))
                    if index == 0 { try server.replaceServices(added) }
                }
            }
        }
    }

    /// Follows what is sent on a link of a central that remembers the services.
    private static func run(
        seed: UInt64,
        sending values: [[UInt8]],
        _ body: @escaping @Sendable (Link, Bench) async throws -> Void
    ) async throws {
        let withheld = Recorder<[UInt8]>()
        try await Bench.run(seed: seed, serve: sending(values, withheld)) { bench in
            _ = try await bench.peripheral.withLink { try await $0.discover() }
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
        #expect(withheld.all == [values[1]])
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a stream that goes on at its handle has a gap where values were withheld`(seed: UInt64) async throws {
        try await Self.run(seed: seed, sending: [[1], [2], [3], [4]]) { link, _ in
            var story: [String] = []
            for try await item in link.notifications(of: Bench.notifying).withGaps() {
                switch item {
                case .value(let value): story.append("\(value[0])")
                case .gap(let gap):
                    let error = try #require(gap.reason as? BLEError)
                    #expect(error.code == .servicesChanged && error.cause.contains("may have sent no values"))
                    story.append("gap")
                }
                if story.last == "4" { break }
            }
            #expect(story == ["1", "gap", "3", "4"])
        }
    }

    @Test func `a message whose chunk was withheld does not come without it`() async throws {
        try await Self.run(seed: 1, sending: [[1], [2], [3], [0]]) { link, _ in
            let error = await bleError {
                for try await message in link.notifications(of: Bench.notifying).assembled(until: .endOfMessage([0])) {
                    Issue.record("\(message)")
                }
            }
            #expect(error?.code == .overflow && error?.received == [1])
            #expect(error?.cause.contains("kernel") == false && error?.cause.contains("services changed") == true)
        }
    }

    @Test func `a session tells of withheld values, too`() async throws {
        let withheld = Recorder<[UInt8]>()
        try await Bench.run(serve: Self.sending([[1], [2], [3], [4]], withheld)) { bench in
            _ = try await bench.peripheral.withLink { try await $0.discover() }
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                var story: [String] = []
                for try await item in session.notifications(of: Bench.notifying).withGaps() {
                    switch item {
                    case .value(let value): story.append("\(value[0])")
                    case .gap: story.append("gap")
                    }
                    if story.last == "4" { break }
                }
                #expect(story == ["1", "gap", "3", "4"])
            }
        }
        #expect(withheld.all == [[2]])
    }
}
