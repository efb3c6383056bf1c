import BLESimulator
import BLEStreams
import Testing

/// Fleets with more sessions than the controller has connection slots, each of which keeps its link.
@Suite(.timeLimit(.minutes(10))) struct SlotFairnessTests {
    /// Runs the closure with as many sensors, and a controller with as many slots.
    private static func run(
        _ count: Int,
        slots: Int,
        seed: UInt64 = 1,
        _ body: @escaping @Sendable (FleetSite) async throws -> Void
    ) async throws {
        try await FleetSite.run(
            count,
            settings: (AdapterSettings(maximumPeripherals: slots), AdapterSettings(advertisingInterval: .seconds(1))),
            seed: seed,
            live: { sensor, _, _ in try await Bench.description.run(on: sensor) },
            body
        )
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `who has waited longest gets the slot of a lost link, not who has lost it`(_ seed: UInt64) async throws {
        try await Self.run(4, slots: 1, seed: seed) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                // The pauses of those that wait are long by now.
                #expect(try await site.linked(sessions, after: .seconds(600)) == [0])
                for last in [0, 1, 2, 3, 0, 1] {
                    site.drop(last)
                    #expect(try await site.linked(sessions, after: .seconds(120)) == [(last + 1) % 4])
                }
            }
        }
    }

    @Test func `a slot is not left empty for the pause of who waits`() async throws {
        try await Self.run(3, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                await sessions[0].disconnect()
                #expect(try await site.linked(sessions, after: .seconds(3)) == [1])
                await fleet.remove(sessions[1])
                #expect(try await site.linked(sessions, after: .seconds(3)) == [2])
            }
        }
    }

    @Test func `one that its program disconnects gives up its place, and costs the next one no time`() async throws {
        try await Self.run(4, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                await sessions[1].disconnect()
                site.drop(0)
                #expect(try await site.linked(sessions, after: .seconds(5)) == [2])
                // It is the last one now.
                try sessions[1].connect()
                _ = try await site.linked(sessions, after: .seconds(120))
                site.drop(2)
                #expect(try await site.linked(sessions, after: .seconds(5)) == [3])
            }
        }
    }

    @Test func `one that is out of range when its turn comes delays the next one for seconds`() async throws {
        try await Self.run(3, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                site.air.setSignal(.outOfRange, between: site.near, and: site.sensors[1])
                site.drop(0)
                #expect(try await site.linked(sessions, after: .seconds(15)) == [2])
                // It is back, and has its turn when it was refused again.
                site.air.setSignal(.dBm(-50), between: site.near, and: site.sensors[1])
                _ = try await site.linked(sessions, after: .seconds(120))
                site.drop(2)
                _ = try await site.linked(sessions, after: .seconds(60))
                site.drop(0)
                #expect(try await site.linked(sessions, after: .seconds(60)) == [1])
            }
        }
    }

    @Test func `one that was out of range for a while has its place when it is back`() async throws {
        try await Self.run(4, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                site.air.setSignal(.outOfRange, between: site.near, and: site.sensors[1])
                // Attempts end with a timeout meanwhile; and so it costs the others no time.
                _ = try await site.linked(sessions, after: .seconds(600))
                site.drop(0)
                #expect(try await site.linked(sessions, after: .seconds(3)) == [2])
                site.air.setSignal(.dBm(-50), between: site.near, and: site.sensors[1])
                #expect(try await site.linked(sessions, after: .seconds(120)) == [2])
                site.drop(2)
                #expect(try await site.linked(sessions, after: .seconds(3)) == [1])
            }
        }
    }

    @Test func `links that are never established are not made without a pause, also in a turn`() async throws {
        try await Self.run(3, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                site.air.faults.add(.neverEstablish().always(), on: site.sensors[1])
                async let changes = sessions[1].states.take(until: site.time.after(.seconds(9))).collect()
                site.drop(0)
                let all = try await changes
                let pauses = zip(all, all.dropFirst()).filter { before, _ in
                    if case .disconnected(.waitingToReconnect) = before.state { true } else { false }
                }
                // The first one is ended by the turn.
                #expect(pauses.count > 1 && pauses.dropFirst().allSatisfy { $1.time - $0.time >= .seconds(1) })
                #expect(try await site.linked(sessions, after: .seconds(6)) == [2])
            }
        }
    }

    @Test func `a link that is never established doesn't cost the turn`() async throws {
        try await Self.run(3, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                site.air.faults.add(.neverEstablish().times(2), on: site.sensors[1])
                site.drop(0)
                #expect(try await site.linked(sessions, after: .seconds(20)) == [1])
            }
        }
    }

    @Test func `an exchange of a moment gets a free slot or is told at once, and costs nobody the place`()
        async throws
    {
        try await Self.run(4, slots: 1) { site in
            try await site.central.withFleet { fleet in
                let plans = site.sensors.prefix(3).map { Session.Plan($0.address) }
                var sessions: [Session] = []
                for plan in plans {
                    sessions.append(fleet.add(plan))
                    try await site.time.sleep(for: .seconds(5))
                }
                _ = try await site.linked(sessions, after: .seconds(600))
                let other = site.central.peripheral(site.sensors[3].address)
                let begin = site.time.now
                let error = await bleError { try await other.withLink { _ in } }
                #expect(error?.code == .connectionFailed && error?.cause.contains("slot") == true)
                #expect(site.time.now - begin < .seconds(3))
                site.air.setSignal(.outOfRange, between: site.near, and: site.sensors[1])
                site.drop(0)
                try await site.time.sleep(for: .seconds(1))
                try await other.withLink { _ in
                    site.air.setSignal(.dBm(-50), between: site.near, and: site.sensors[1])
                    try await site.time.sleep(for: .seconds(60))
                }
                #expect(try await site.linked(sessions, after: .seconds(20)) == [1])
            }
        }
    }

    @Test func `an exchange of a moment is told that sessions get the next slot, and what makes room for it`()
        async throws
    {
        try await Self.run(4, slots: 1) { site in
            let other = site.central.peripheral(site.sensors[3].address)
            try await site.central.withFleet { fleet in
                let sessions = try await site.follow(site.sensors.prefix(3), in: fleet)
                _ = try await site.linked(sessions, after: .seconds(600))
                let waiting = try await sessions[2].states.first()
                let remedy = "Close another link, or join a second adapter: AdapterChoice.joined(_:)."
                #expect(waiting.cause?.error?.remedy == remedy)
                await sessions[0].disconnect()
                #expect(try await site.linked(sessions, after: .seconds(60)) == [1])
                let error = await bleError { try await other.withLink { _ in } }
                #expect(error?.remedy.hasSuffix("use a session here, too, which waits in line.") == true)
                #expect(error?.remedy.contains("`Session.disconnect()`") == true)
                await sessions[2].disconnect()
                let last = await bleError { try await other.withLink { _ in } }
                #expect(last?.remedy == remedy)
                await sessions[1].disconnect()
                try await other.withLink { _ in }
            }
        }
    }

    /// Of twelve sessions, three have a link at a time, for three minutes on average: each waits for nine minutes.
    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func `nobody waits for much longer than all the others together have a link`(_ seed: UInt64) async throws {
        try await Self.run(12, slots: 3, seed: seed) { site in
            site.air.faults.add(.loseLinks(every: .seconds(180)))
            try await site.central.withFleet { fleet in
                let end = site.time.after(.seconds(4 * 3600))
                async let transitions = fleet.transitions.take(until: end).collect()
                for sensor in site.sensors { fleet.add(Session.Plan(sensor.address)) }
                var (lost, longest): ([ObjectIdentifier: Duration], Duration) = ([:], .zero)
                for transition in try await transitions {
                    let session = ObjectIdentifier(transition.session)
                    if transition.state.isReady {
                        let since = lost.removeValue(forKey: session) ?? transition.time
                        longest = max(longest, transition.time - since)
                    } else if lost[session] == nil {
                        lost[session] = transition.time
                    }
                }
                for since in lost.values { longest = max(longest, site.time.now - since) }
                #expect(longest < .seconds(2400))
            }
        }
    }
}

extension FleetSite {
    /// Adds a session for each sensor, a moment after the one before.
    fileprivate func follow(in fleet: Fleet) async throws -> [Session] { try await follow(sensors[...], in: fleet) }

    fileprivate func follow(_ sensors: ArraySlice<SimulatedAdapter>, in fleet: Fleet) async throws -> [Session] {
        var sessions: [Session] = []
        for sensor in sensors {
            sessions.append(fleet.add(Session.Plan(sensor.address)))
            try await time.sleep(for: .seconds(5))
        }
        return sessions
    }

    fileprivate func drop(_ sensor: Int) { air.faults.add(.dropLink(after: .zero as Duration), on: sensors[sensor]) }

    /// Who has a link after a while.
    fileprivate func linked(_ sessions: [Session], after duration: Duration) async throws -> [Int] {
        try await time.sleep(for: duration)
        return sessions.indices.filter { sessions[$0].state.isReady }
    }
}
