import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A bonded peripheral, to which only the joined adapter that has the bond may connect.
@Suite(.timeLimit(.minutes(10))) struct BondOfOneAdapterTests {
    @Test func `where that one has no slot left the error says so, and doesn't ask for another bond`() async throws {
        try await JoinedSite.run(sensors: 2, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let (peripherals, far) = (site.peripherals, site.adapters[1])
            for sensor in 0..<2 { site.move(sensor, near: .outOfRange, far: .dBm(-50)) }
            try await peripherals[0].withLink { try await $0.pair() }
            try await peripherals[1].withLink { _ in
                #expect(site.loads == [0, 1])
                let error = await #expect(throws: BLEError.self) { try await peripherals[0].withLink { _ in } }
                #expect(error?.code == .connectionFailed && error?.cause.contains("slot") == true, "\(error as Any)")
                #expect(error?.remedy.contains("unpair") == false, "\(error as Any)")
                #expect(error?.remedy.hasPrefix("Close another link of far:") == true, "\(error as Any)")
            }
            try await peripherals[0].withLink { link in
                #expect(link.security.isEncrypted && site.loads == [0, 1])
            }
            far.powerOff()
            let error = await #expect(throws: BLEError.self) { try await peripherals[0].withLink { _ in } }
            #expect(error?.cause.contains("the bond with it belongs to far") == true, "\(error as Any)")
        }
    }

    @Test func `by a private address whose key only the adapter knows, it is connected to again and again`()
        async throws
    {
        try await JoinedSite.run { site in
            let hidden = site.air.adapter()
            try await Central.open(.radio(hidden)).setPrivacy(true)
            site.air.setSignal(.dBm(-50), between: site.adapters[0], and: hidden)
            site.air.setSignal(.outOfRange, between: site.adapters[1], and: hidden)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: hidden) }
                let address = hidden.addressOnAir
                // Another program, whose store this one doesn't have.
                let other = try await Central.open(.radio(site.adapters[0]))
                try await other.peripheral(address).withLink { try await $0.pair() }
                for _ in 0..<3 {
                    try await site.central.peripheral(address).withLink {
                        try await $0.expect(Bench.readOnly, reads: [7])
                    }
                    #expect(site.loads == [0, 0])
                }
                group.cancelAll()
            }
        }
    }

    /// A bonded sensor that both adapters receive, while the one that has the bond is off, or unplugged.
    private static func withoutHolder(
        isUnplugged: Bool,
        _ body: @escaping @Sendable (JoinedSite, Peripheral) async throws -> Void
    ) async throws {
        try await JoinedSite.run { site in
            site.move(0, near: .outOfRange, far: .dBm(-50))
            try await site.peripherals[0].withLink { try await $0.pair() }
            site.adapters[1].setState(isUnplugged ? .absent : .poweredOff)
            site.move(0, near: .dBm(-50), far: .dBm(-50))
            try await body(site, site.peripherals[0])
        }
    }

    @Test(arguments: [true, false])
    func `whoever waits for an adapter waits for that one while another is on`(_ isUnplugged: Bool) async throws {
        try await Self.withoutHolder(isUnplugged: isUnplugged) { site, peripheral in
            let begin = site.time.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await site.time.sleep(for: .seconds(10))
                    site.adapters[1].powerOn()
                }
                try await peripheral.withQueue { queue in
                    let value = try await queue.connecting(then: .stay).run(.read(JoinedSite.fixed))
                    #expect(Array(value) == [0] && site.loads == [0, 1])
                }
                try await group.waitForAll()
            }
            #expect(site.time.now - begin >= .seconds(10))
        }
    }

    @Test func `whoever waits for that one in vain is told so, and a bond that is removed is not waited for`()
        async throws
    {
        try await Self.withoutHolder(isUnplugged: true) { site, peripheral in
            let begin = site.time.now
            try await peripheral.withQueue { plain in
                let queue = plain.connecting(timeout: .seconds(20), then: .stay)
                let error = await bleError { try await queue.run(.read(JoinedSite.fixed)) }
                #expect(error?.cause.contains("the bond with it belongs to far") == true, "\(error as Any)")
                #expect(site.time.now - begin >= .seconds(20))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await site.time.sleep(for: .seconds(5))
                        try await peripheral.unpair()
                    }
                    let value = try await queue.run(.read(JoinedSite.fixed))
                    #expect(Array(value) == [0] && site.loads == [1, 0])
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `a limit that passes before that one returns names it`(_ isUnplugged: Bool) async throws {
        try await Self.withoutHolder(isUnplugged: isUnplugged) { site, peripheral in
            let limit = Duration.seconds(5)
            let connecting = try await peripheral.withQueue { plain in
                let queue = plain.connecting(timeout: .seconds(60))
                return await bleError { try await queue.run(.read(JoinedSite.fixed), deadline: limit) }
            }
            let waiting = try await site.central.withSession(Session.Plan(peripheral.address)) { session in
                try await site.time.sleep(for: .seconds(2))
                #expect(session.state.kind == .waitingToReconnect, "\(session.state)")
                return [
                    await bleError { try await session.queue.run(.read(JoinedSite.fixed), deadline: limit) },
                    await bleError { _ = try await session.read(JoinedSite.fixed, timeout: limit) },
                    await bleError { try await session.ready(timeout: limit) },
                ]
            }
            for error in waiting + [connecting] {
                #expect(error?.code == .timedOut, "\(error as Any)")
                #expect(error?.cause.contains("the bond with it belongs to far") == true, "\(error as Any)")
                #expect(error?.remedy.contains("Switch that adapter on") == true, "\(error as Any)")
            }
        }
    }

    @Test(arguments: [true, false])
    func `a session waits for that one, which counts as no failure, and goes on at once`(_ isUnplugged: Bool)
        async throws
    {
        try await Self.withoutHolder(isUnplugged: isUnplugged) { site, peripheral in
            var plan = Session.Plan(peripheral.address)
            plan.reconnecting = .constant(.seconds(1), attempts: 2)
            try await site.central.withSession(plan) { session in
                try await site.time.sleep(for: .seconds(60))
                #expect(session.state.kind == .waitingToReconnect, "\(session.state)")
                site.adapters[1].powerOn()
                let transitions = try await session.states.take(until: { $0.state.isReady || $0.state.kind == .failed })
                    .collect()
                #expect(transitions.last?.state.isReady == true && site.loads == [0, 1], "\(transitions)")
                // The link is lost with it, and made again with it.
                site.adapters[1].setState(isUnplugged ? .absent : .poweredOff)
                try await site.time.sleep(for: .seconds(60))
                #expect(session.state.kind == .waitingToReconnect, "\(session.state)")
                let begin = site.time.now
                site.adapters[1].powerOn()
                _ = try await session.states.first { $0.state.isReady }
                #expect(site.time.now - begin < .seconds(10))
            }
        }
    }

    @Test(arguments: [true, false])
    func `a session that waits for that one tells which it is`(_ isUnplugged: Bool) async throws {
        try await Self.withoutHolder(isUnplugged: isUnplugged) { site, peripheral in
            try await site.central.withSession(Session.Plan(peripheral.address)) { session in
                let waiting = try await session.states.first { $0.state.kind == .waitingToReconnect }
                let error = waiting.cause?.error
                #expect(error?.code == (isUnplugged ? .adapterNotFound : .adapterPoweredOff), "\(error as Any)")
                #expect(error?.cause.contains("the bond with it belongs to far") == true, "\(error as Any)")
                #expect(error?.remedy.contains("Switch that adapter on") == true, "\(error as Any)")
                #expect("\(waiting)".contains("the bond with it belongs to far"), "\(waiting)")
            }
        }
    }

    @Test func `a session that waits for nothing fails with the name of that one`() async throws {
        try await Self.withoutHolder(isUnplugged: false) { site, peripheral in
            var plan = Session.Plan(peripheral.address)
            plan.reconnecting = nil
            try await site.central.withSession(plan) { session in
                let last = try await session.states.first { $0.state.kind == .failed }
                guard case .failed(let error) = last.state else { return }
                #expect(error.cause.contains("the bond with it belongs to far"), "\(error)")
            }
        }
    }
}
