import BLESimulator
import BLEStreams
import Testing

/// Joined adapters whose controllers manage one link each.
@Suite(.timeLimit(.minutes(10))) struct FreedSlotTests {
    @Test func `an attempt goes back to an adapter that has a free slot again`() async throws {
        try await JoinedSite.run(sensors: 2, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let (first, second) = (site.peripherals[0], site.peripherals[1])
            for sensor in 0..<2 { site.move(sensor, near: .dBm(-50), far: .outOfRange) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await first.withLink { _ in try await site.time.sleep(for: .seconds(20)) } }
                try await site.time.sleep(for: .seconds(5))
                #expect(site.loads == [1, 0])
                let begin = site.time.now
                try await second.withLink(timeout: .seconds(600)) { link in
                    #expect(site.loads == [1, 0] && link.peripheral.address == second.address)
                    #expect(site.time.now - begin < .seconds(60))
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `it does so at once where the other adapter is unplugged meanwhile`() async throws {
        try await JoinedSite.run(sensors: 2, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let (first, second) = (site.peripherals[0], site.peripherals[1])
            for sensor in 0..<2 { site.move(sensor, near: .dBm(-50), far: .outOfRange) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await first.withLink { _ in try await site.time.sleep(for: .seconds(15)) } }
                try await site.time.sleep(for: .seconds(5))
                group.addTask { try await second.withLink { _ in #expect(site.loads == [1, 0]) } }
                // The second turn of the far one is not over yet.
                try await site.time.sleep(for: .seconds(14))
                #expect(site.loads == [0, 0] && site.adapters[1].activity.connecting == [second.address])
                site.adapters[1].unplug()
                try await group.waitForAll()
            }
        }
    }

    @Test func `who is heard only by one that has no slot is told so`() async throws {
        try await JoinedSite.run(sensors: 2, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            for sensor in 0..<2 { site.move(sensor, near: .dBm(-50), far: .outOfRange) }
            try await site.peripherals[0].withLink { _ in
                let error = await bleError { try await site.peripherals[1].withLink { _ in } }
                #expect(error?.code == .timedOut)
                #expect(
                    error?.cause == "near has no free connection slot, and no other adapter has heard the peripheral "
                        + "within 30.0 seconds"
                )
                #expect(error?.remedy.hasPrefix("Close another link of near, or move") == true)
                site.move(1, near: .outOfRange, far: .outOfRange)
                let later = await bleError { try await site.peripherals[1].withLink { _ in } }
                #expect(later?.cause == "the peripheral did not accept a connection within 30.0 seconds")
            }
        }
    }

    @Test func `who is heard only by one whose next slot a session gets is told what makes room`() async throws {
        try await JoinedSite.run(sensors: 3, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            for sensor in 0..<3 { site.move(sensor, near: .dBm(-50), far: .outOfRange) }
            try await site.peripherals[0].withLink { _ in
                try await site.central.withSession(Session.Plan(site.peripherals[1].address)) { session in
                    try await site.time.sleep(for: .seconds(100))
                    let error = await bleError { try await site.peripherals[2].withLink { _ in } }
                    #expect(error?.remedy.hasPrefix("Close another link of near, or move") == true)
                    #expect(error?.remedy.contains("`Session.disconnect()`") == true, "\(error as Any)")
                    await session.disconnect()
                    let later = await bleError { try await site.peripherals[2].withLink { _ in } }
                    #expect(later?.remedy.hasSuffix("into range of another adapter.") == true, "\(later as Any)")
                }
            }
        }
    }

    @Test func `who finds no slot on any of them is told so, and not to join several`() async throws {
        try await JoinedSite.run(sensors: 3, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let peripherals = site.peripherals
            try await peripherals[0].withLink { _ in
                try await peripherals[1].withLink { _ in
                    let error = await bleError { try await peripherals[2].withLink { _ in } }
                    #expect(error?.code == .connectionFailed && error?.reason?.hciStatus == 0x09)
                    #expect(error?.cause == "near and far have no free connection slot")
                    #expect(error?.remedy == "Close another link, or use one more adapter.")
                }
            }
        }
    }
}
