import Leases

// The program of a gateway: it gives its machine what happens, and does what comes out.

extension LeaseWorld {
    func boot(_ number: Int) {
        guard !gateways[number].isRunning else { return }
        gateways[number].process += 1
        gateways[number].error = random.below(2 * plan.terms.clockError + 1) - plan.terms.clockError
        gateways[number].offset = random.below(1_000_000_000) - now
        gateways[number].linkAlarm = .max
        gateways[number].restored = gateways[number].disk
        gateways[number].machine = LeaseMachine(
            gateway: GatewayID(rawValue: UInt64(number) + 1),
            stored: gateways[number].disk,
            seed: random.next(),
            terms: plan.terms,
            rules: plan.rules
        )
        gateways[number].isRunning = true
        let process = gateways[number].process
        for pair in map.pairs[number] {
            alarms[Int(pair)] = .max
            let event = WorldEvent(kind: .report, gateway: Int32(number), pair: pair, generation: process)
            wheel.add(event, at: now + random.below(plan.cadence))
        }
        wheel.add(WorldEvent(kind: .connect, gateway: Int32(number), generation: process), at: now + random.below(2000))
        log("gateway \(number) starts, its disk has \(gateways[number].disk)")
    }

    func hear(_ gateway: Int, _ pair: Int, _ event: WorldEvent) {
        let level = Int(map.strength[pair]) + Int(shadow[pair])
        if isHeard(pair) {
            give(.heard(peripheral(pair), strength: level + Int(random.below(7)) - 3), to: gateway)
            if owners[Int(map.sensor[pair])] == Int32(gateway) {
                let id = peripheral(pair)
                give(blockedUntil[pair] > now ? .unreachable(id) : .reached(id), to: gateway)
            }
        }
        wheel.add(event, at: now + plan.cadence * 4 / 5 + random.below(plan.cadence * 2 / 5))
    }

    func isHeard(_ pair: Int) -> Bool { Int(map.strength[pair]) + Int(shadow[pair]) > -100 }

    // MARK: - The connection

    func connect(_ number: Int) {
        guard !gateways[number].isConnected else { return }
        gateways[number].connection += 1
        guard broker.isUp, gateways[number].cutUntil <= now else { return retryConnecting(number) }
        gateways[number].up.clear()
        gateways[number].down.clear()
        accept(number, SessionID(rawValue: random.next()))
        // No answer is like no pulse.
        gateways[number].pulse = .max
        addPulseTimeout(number, .max)
    }

    private func retryConnecting(_ number: Int) {
        let process = gateways[number].process
        let event = WorldEvent(kind: .connect, gateway: Int32(number), generation: process)
        wheel.add(event, at: now + 1000 + random.below(4000))
    }

    private func addPulseTimeout(_ number: Int, _ pulse: UInt64) {
        let event = WorldEvent(
            kind: .pulseTimeout,
            gateway: Int32(number),
            generation: gateways[number].connection,
            value: pulse
        )
        wheel.add(event, at: now + 15_000)
    }

    func loseConnection(_ number: Int, _ connection: UInt32, why: String) {
        guard gateways[number].connection == connection, gateways[number].isRunning else { return }
        log("gateway \(number) has no connection: \(why)")
        let wasConnected = gateways[number].isConnected
        gateways[number].isConnected = false
        gateways[number].pulse = 0
        gateways[number].down.clear()
        if wasConnected { give(.disconnected, to: number) }
        // It closes its socket; the broker learns of it after what is on its way.
        let event = WorldEvent(kind: .brokerLoses, gateway: Int32(number), generation: connection)
        if gateways[number].cutUntil <= now { wheel.add(event, at: max(now + 20, gateways[number].up.arrival)) }
        retryConnecting(number)
    }

    func deliverDown(_ number: Int, _ event: WorldEvent) {
        guard gateways[number].connection == event.generation, gateways[number].isRunning else { return }
        guard gateways[number].cutUntil <= now else { return wheel.add(event, at: gateways[number].cutUntil) }
        guard let packet = gateways[number].down.popFirst() else { return }
        switch packet {
        case .accepted(let session):
            gateways[number].isConnected = true
            gateways[number].connectedAt = now
            gateways[number].pulse = 0
            log("gateway \(number) is connected, session \(session)")
            give(.connected(session), to: number)
        case .subscribed(let pair): give(.subscribed(peripheral(Int(pair))), to: number)
        case .message(let pair, let message, let isRetained):
            give(.message(peripheral(Int(pair)), message, isRetained: isRetained), to: number)
        case .pulse(let pulse):
            if gateways[number].pulse == pulse { gateways[number].pulse = 0 }
            give(.pulsed(pulse), to: number)
        case .gone(let other, let session):
            give(.gone(GatewayID(rawValue: UInt64(other) + 1), session), to: number)
        default: break
        }
    }

    // MARK: - The machine

    func give(_ input: LeaseInput, to number: Int) {
        guard gateways[number].isRunning else { return }
        let local = gateways[number].local(now)
        let effects = gateways[number].machine?.handle(input, at: local)
        if let effects { perform(effects, number) }
    }

    private func perform(_ effects: LeaseEffects, _ number: Int) {
        for id in effects.release { noteRelease(Int(id.rawValue), number) }
        for id in effects.unsubscribe { send(.unsubscribe(pair(id, number)), number) }
        for other in effects.unwatch { send(.unwatch(Int32(other.rawValue) - 1), number) }
        for id in effects.subscribe { send(.subscribe(pair(id, number)), number) }
        for other in effects.watch { send(.watch(Int32(other.rawValue) - 1), number) }
        for publication in effects.publish {
            log("gateway \(number), sensor \(publication.peripheral.rawValue): \(publication.message.traced)")
            checkClaim(publication, number)
            send(.publish(pair(publication.peripheral, number), publication.message), number)
        }
        if let pulse = effects.pulse {
            gateways[number].pulse = pulse
            send(.pulse(pulse), number)
            addPulseTimeout(number, pulse)
        }
        for tenure in effects.acquire { noteAcquire(Int(tenure.peripheral.rawValue), tenure.epoch, number) }
        let process = gateways[number].process
        if let store = effects.store {
            let event = WorldEvent(kind: .stored, gateway: Int32(number), generation: process, value: store)
            wheel.add(event, at: now + 5 + random.below(30))
        }
        for alarm in effects.alarms { set(alarm, number, process) }
    }

    private func set(_ alarm: LeaseEffects.Alarm, _ number: Int, _ process: UInt32) {
        let time = max(gateways[number].trueTime(alarm.time), now)
        var event = WorldEvent(kind: .linkTimer, gateway: Int32(number), generation: process, value: UInt64(time))
        switch alarm.timer {
        case .link: gateways[number].linkAlarm = time
        case .peripheral(let id):
            event.kind = .timer
            event.pair = pair(id, number)
            alarms[Int(event.pair)] = time
        }
        wheel.add(event, at: time)
    }

    private func pair(_ id: PeripheralID, _ number: Int) -> Int32 {
        guard let pair = map.pair(Int(id.rawValue), number) else {
            preconditionFailure("a machine names a sensor that its gateway never hears")
        }
        return Int32(pair)
    }

    private func send(_ packet: Packet, _ number: Int) {
        guard gateways[number].isConnected else { return }
        let arrival = max(gateways[number].up.arrival, now + delay(number))
        gateways[number].up.arrival = arrival
        gateways[number].up.append(packet)
        let connection = gateways[number].connection
        wheel.add(WorldEvent(kind: .deliverUp, gateway: Int32(number), generation: connection), at: arrival)
    }

    /// How long a packet takes, in one direction.
    func delay(_ number: Int) -> Int64 {
        2 + random.below(gateways[number].slowUntil > now ? 3000 : 30)
    }

    func finishStoring(_ number: Int, _ value: UInt64) {
        guard gateways[number].diskFullUntil <= now else {
            log("gateway \(number) can't store \(value)")
            return give(.storeFailed, to: number)
        }
        gateways[number].disk = value
        give(.stored(value), to: number)
    }
}
