import Leases

// What goes wrong, and when.

extension LeaseWorld {
    /// What befalls a gateway, or the broker.
    enum Fault: Int, CaseIterable {
        case crash, silentCrash, cut, reset, unnoticedReset, pause, slowness, fullDisk, blockedLinks, shadows
        case brokerForgets, brokerRemembers, brokerRewinds, lostWills, lateWills, powerCut

        var isOfGateway: Bool { rawValue <= Fault.shadows.rawValue }
    }

    func planFaults() {
        broker.clockError = random.below(2 * plan.terms.clockError + 1) - plan.terms.clockError
        wheel.add(WorldEvent(kind: .snapshot), at: 60_000)
        let ofGateways = Fault.allCases.filter(\.isOfGateway)
        let ofBroker = Fault.allCases.filter { !$0.isOfGateway }
        let begin: Int64 = 90_000
        let length = max(plan.calm - begin - 130_000, 1)
        func add(_ fault: Fault, _ gateway: Int64) {
            let event = WorldEvent(kind: .fault, gateway: Int32(gateway), pair: Int32(fault.rawValue))
            wheel.add(event, at: begin + random.below(length))
        }
        for _ in 0..<plan.gatewayFaults {
            add(ofGateways[Int(random.below(Int64(ofGateways.count)))], random.below(Int64(plan.gateways)))
        }
        for _ in 0..<plan.brokerFaults { add(ofBroker[Int(random.below(Int64(ofBroker.count)))], 0) }
    }

    func beginFault(_ number: Int, _ gateway: Int) {
        guard let fault = Fault(rawValue: number) else { return }
        let duration = 2000 + random.below(random.below(2) == 0 ? 20_000 : 120_000)
        log("FAULT: \(fault), gateway \(gateway), for \(duration) ms")
        if fault.isOfGateway {
            gateways[gateway].troubledAt = max(gateways[gateway].troubledAt, now + duration)
            befall(gateway, fault, duration)
        } else {
            befallBroker(fault, duration)
        }
    }

    private func befall(_ number: Int, _ fault: Fault, _ duration: Int64) {
        let connection = gateways[number].connection
        let client = WorldEvent(kind: .clientLoses, gateway: Int32(number), generation: connection)
        let server = WorldEvent(kind: .brokerLoses, gateway: Int32(number), generation: connection)
        switch fault {
        case .crash:
            crash(number, for: duration)
            wheel.add(server, at: now + delay(number))
        case .silentCrash: crash(number, for: duration)
        case .cut: gateways[number].cutUntil = max(gateways[number].cutUntil, now + duration)
        case .reset:
            wheel.add(client, at: now + delay(number))
            wheel.add(server, at: now + delay(number))
        case .unnoticedReset: wheel.add(server, at: now + delay(number))
        case .pause: gateways[number].pausedUntil = max(gateways[number].pausedUntil, now + duration)
        case .slowness: gateways[number].slowUntil = max(gateways[number].slowUntil, now + duration)
        case .fullDisk: gateways[number].diskFullUntil = max(gateways[number].diskFullUntil, now + duration * 3)
        case .blockedLinks:
            for pair in map.pairs[number] where random.below(3) == 0 { blockedUntil[Int(pair)] = now + duration * 3 }
        default: castShadows(number)
        }
    }

    /// Something stands where it didn't, or somebody carried a sensor.
    private func castShadows(_ number: Int) {
        for pair in map.pairs[number] where random.below(3) == 0 {
            shadow[Int(pair)] = random.below(5) == 0 ? -200 : Int16(random.below(40)) - 25
        }
    }

    func crash(_ number: Int, for duration: Int64) {
        guard gateways[number].isRunning else { return }
        log("gateway \(number) crashes")
        for pair in map.pairs[number] { noteRelease(Int(map.sensor[Int(pair)]), number) }
        gateways[number].machine = nil
        gateways[number].isRunning = false
        gateways[number].isConnected = false
        gateways[number].pausedUntil = 0
        gateways[number].down.clear()
        wheel.add(WorldEvent(kind: .boot, gateway: Int32(number)), at: now + duration)
    }

    private func befallBroker(_ fault: Fault, _ duration: Int64) {
        switch fault {
        case .brokerForgets: crashBroker(.lost, for: duration)
        case .brokerRemembers: crashBroker(.kept, for: duration)
        case .brokerRewinds: crashBroker(.old, for: duration)
        case .lostWills, .lateWills:
            broker.wills = fault == .lostWills ? .lost : .late
            broker.willsUntil = max(broker.willsUntil, now + duration * 3)
        default:
            // The whole site: the broker comes back empty, and everybody starts anew.
            crashBroker(.lost, for: duration)
            for number in gateways.indices { crash(number, for: 1000 + random.below(60_000)) }
        }
    }
}
