import BLESimulator
import BLEStreams
import Testing

/// Consumers of a fleet's values, and of one subscription's, that take turns while links are lost at random: each
/// subscription's next consumer is told of the end of its own link, and of no other one's.
@Suite(.timeLimit(.minutes(30))) struct FleetInTurnTests {
    private struct Route: Hashable {
        var session: ObjectIdentifier
        var characteristic: BluetoothUUID
    }

    /// What the consumers of a subscription have had.
    private struct Place {
        var last: UInt32?
        /// Whose turn it was.
        var turn = 0
        /// Whether the end of a link has been told since.
        var isTold = false
        /// Whether it was told to a consumer of this subscription alone.
        var isOwnTold = false
    }

    /// How many numbers are of one link.
    private static let linkful: UInt32 = 100_000
    private static let characteristics = [Bench.notifying, Bench.counter]

    /// Counts from a number of its own on each link.
    private static func serve(_ seed: UInt64, _ server: PeripheralServer, _ bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, characteristic) in characteristics.enumerated() {
                group.addTask {
                    var (chance, number) = (Chance(seed: seed &+ UInt64(index)), UInt32(0))
                    for try await change in server.subscriptions(of: characteristic) where change.isSubscribed {
                        number = (number / linkful + 1) * linkful
                        do {
                            while true {
                                try await server.notify(number.octets, of: characteristic, to: change.central)
                                number += 1
                                try await bench.time.sleep(for: .milliseconds(10 + chance.below(3000)))
                            }
                        } catch is BLEError {}
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private var places: [Route: Place] = [:]
    private var turns = 0
    private(set) var found: [String] = []

    private mutating func take(_ gap: StreamGap, of route: Route?) {
        guard gap.reason != nil else { return }
        for key in places.keys where route == nil || route == key { places[key]?.isTold = true }
        if let route { places[route]?.isOwnTold = true }
    }

    private mutating func take(_ value: CharacteristicValue, of route: Route) {
        let number = UInt32(octets: value)
        let place = places[route] ?? Place()
        if let last = place.last {
            if number / Self.linkful == last / Self.linkful {
                if number != last + 1 { found.append("\(number) behind \(last)") }
                if place.isOwnTold { found.append("the end of another link before \(number)") }
            } else if !place.isTold, place.turn == turns {
                // Who begins behind a break, of which nothing before it is kept, isn't told of it.
                found.append("no end of a link between \(last) and \(number)")
            }
        }
        places[route] = Place(last: number, turn: turns)
    }

    /// One consumer, of all or of one subscription, that leaves after a few values.
    private mutating func turn(_ fleet: Fleet, _ time: VirtualTime, _ chance: inout Chance) async throws {
        let count = 1 + chance.below(4)
        let rest = Duration.milliseconds([0, 0, 5000, 40_000][chance.below(4)])
        var taken = 0
        turns += 1
        if chance.below(2) == 0 {
            for try await item in fleet.values.withGaps() {
                switch item {
                case .gap(let gap): take(gap, of: nil)
                case .value(let value):
                    let name = "\(value.subscription.characteristic)"
                    let characteristic = try #require(Self.characteristics.first { "\($0)" == name })
                    let session = ObjectIdentifier(value.session)
                    take(value.value, of: Route(session: session, characteristic: characteristic))
                    taken += 1
                    if taken == 1 { try await time.sleep(for: rest) }
                }
                if taken == count { return }
            }
        } else {
            let session = fleet.sessions[chance.below(2)]
            let route = Route(session: ObjectIdentifier(session), characteristic: Self.characteristics[chance.below(2)])
            for try await item in session.notifications(of: route.characteristic).withGaps() {
                switch item {
                case .gap(let gap): take(gap, of: route)
                case .value(let value):
                    take(value, of: route)
                    taken += 1
                    if taken == 1 { try await time.sleep(for: rest) }
                }
                if taken == count { return }
            }
        }
    }

    @Test func `each subscription's consumers are told of the ends of its own links, whoever leaves what to whom`()
        async throws
    {
        for seed in 1...StreamsInTurnTests.seeds {
            let found = Recorder<String>()
            try await Bench.run(seed: seed) {
                try await Self.serve(seed, $0, $1)
            } _: { bench in
                let other = bench.air.adapter()
                bench.air.faults.add(.loseLinks(every: .seconds(30)))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await Bench.description.run(on: other) { try await Self.serve(~seed, $0, bench) }
                    }
                    try await bench.central.withFleet { fleet in
                        for peripheral in [bench.peripheral, bench.central.peripheral(other.address)] {
                            let plan = Session.Plan(peripheral)
                            fleet.add(Self.characteristics.reduce(plan) { $0.subscribing(to: $1) })
                        }
                        var (consumers, chance) = (FleetInTurnTests(), Chance(seed: seed))
                        while bench.time.now < .seconds(400) { try await consumers.turn(fleet, bench.time, &chance) }
                        for text in consumers.found { found.add(text) }
                    }
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            #expect(found.all.isEmpty, "seed \(seed): \(found.all.count), \(found.all.prefix(3))")
        }
    }
}
