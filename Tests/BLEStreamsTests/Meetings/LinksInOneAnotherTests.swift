import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Links to two peripherals, the one within the other's scope, through joined adapters one of which comes and goes.
@Suite(.timeLimit(.minutes(10))) struct LinksInOneAnotherTests {
    @Test func `one goes with its adapter, the other stays, and a scan uses whichever is there`() async throws {
        try await JoinedSite.run(sensors: 2) { site in
            site.move(0, near: .dBm(-50), far: .outOfRange)
            site.move(1, near: .outOfRange, far: .dBm(-50))
            let (near, peripherals) = (site.adapters[0], site.peripherals)
            let heard = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let scan = site.central.scan(duplicates: true)
                    for try await discovery in scan { heard.add(discovery.adapter ?? "") }
                }
                for time in 1...3 {
                    let error = await bleError {
                        try await peripherals[0].withLink { outer in
                            try await peripherals[1].withLink { inner in
                                #expect(site.loads == [1, 1], "time \(time)")
                                near.unplug()
                                try await site.time.sleep(for: .seconds(1))
                                let value = try await inner.read(JoinedSite.fixed)
                                #expect(Array(value) == [1], "time \(time)")
                            }
                            _ = try await outer.read(JoinedSite.fixed)
                        }
                    }
                    #expect(error?.code == .disconnected, "time \(time): \(error as Any)")
                    near.plugIn()
                    let count = heard.all.count
                    try await site.time.sleep(for: .seconds(30))
                    #expect(Set(heard.all.dropFirst(count)) == ["near", "far"], "time \(time)")
                }
                group.cancelAll()
            }
            try await site.time.sleep(for: .seconds(5))
            #expect(site.central.leftovers.isEmpty, "\(site.central.leftovers)")
        }
    }
}
