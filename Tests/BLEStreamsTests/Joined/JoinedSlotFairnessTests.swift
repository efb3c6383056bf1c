import BLESimulator
import BLEStreams
import Testing

/// Sessions that wait for a slot of one of two joined adapters, which manage one link each.
@Suite(.timeLimit(.minutes(10))) struct JoinedSlotFairnessTests {
    /// Adds a session for each sensor, a moment after the one before, and lets their pauses grow.
    private static func follow(_ site: JoinedSite, in fleet: Fleet) async throws -> [Session] {
        var sessions: [Session] = []
        for sensor in site.sensors {
            sessions.append(fleet.add(Session.Plan(sensor.address)))
            try await site.time.sleep(for: .seconds(10))
        }
        try await site.time.sleep(for: .seconds(600))
        return sessions
    }

    private static func linked(_ sessions: [Session]) -> [Int] {
        sessions.indices.filter { sessions[$0].state.isReady }
    }

    @Test func `where both hear all, a slot of either goes to who has waited longest`() async throws {
        try await JoinedSite.run(sensors: 5, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            try await site.central.withFleet { fleet in
                let sessions = try await Self.follow(site, in: fleet)
                #expect(Self.linked(sessions) == [0, 1])
                for last in 0..<3 {
                    site.air.faults.add(.dropLink(after: .zero as Duration), on: site.sensors[last])
                    try await site.time.sleep(for: .seconds(120))
                    #expect(Self.linked(sessions) == [last + 1, last + 2])
                }
            }
        }
    }

    @Test func `a slot of one goes to who has waited for that one, also where only that one hears it`() async throws {
        try await JoinedSite.run(sensors: 4, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            for sensor in 0..<3 { site.move(sensor, near: .dBm(-50), far: .outOfRange) }
            site.move(3, near: .outOfRange, far: .dBm(-50))
            try await site.central.withFleet { fleet in
                let sessions = try await Self.follow(site, in: fleet)
                #expect(Self.linked(sessions) == [0, 3])
                var counts = [0, 0, 0, 0]
                for _ in 0..<30 {
                    let holder = try #require(Self.linked(sessions).first)
                    site.air.faults.add(.dropLink(after: .zero as Duration), on: site.sensors[holder])
                    try await site.time.sleep(for: .seconds(120))
                    for session in Self.linked(sessions) { counts[session] += 1 }
                }
                // An attempt may be under way at the other adapter as its turn comes, and then it has a later one.
                #expect(counts[0..<3].allSatisfy { $0 >= 5 } && counts[3] == 30, "\(counts)")
            }
        }
    }
}
