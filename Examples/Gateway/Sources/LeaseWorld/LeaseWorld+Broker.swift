import Leases

// The broker: it takes packets one after the other, and hands them out to each gateway in that order.

extension LeaseWorld {
    /// Takes a CONNECT with Clean Start: an earlier session of the gateway ends, and with it the delay of its will.
    func accept(_ number: Int, _ session: SessionID) {
        let old = broker.sessions[number]
        if let old { loseSession(number, old.connection, why: "a new one began", delaysWill: false) }
        let connection = gateways[number].connection
        broker.sessions[number] = WorldBroker.Session(id: session, connection: connection, heardAt: now)
        sendDown(.accepted(session), number)
        let event = WorldEvent(kind: .keepAlive, gateway: Int32(number), generation: connection)
        wheel.add(event, at: now + 15_000)
    }

    func checkKeepAlive(_ number: Int, _ event: WorldEvent) {
        guard let session = broker.sessions[number], session.connection == event.generation else { return }
        if session.heardAt + 15_000 <= now {
            loseSession(number, event.generation, why: "nothing came for 15 s")
        } else {
            wheel.add(event, at: session.heardAt + 15_000)
        }
    }

    func loseSession(_ number: Int, _ connection: UInt32, why: String, delaysWill: Bool = true) {
        guard let session = broker.sessions[number], session.connection == connection else { return }
        log("broker: session \(session.id) of gateway \(number) is lost: \(why)")
        broker.sessions[number] = nil
        for pair in map.pairs[number] { broker.isSubscribed[Int(pair)] = false }
        for other in broker.watchers.indices { broker.watchers[other].removeAll { $0 == Int32(number) } }
        var time = now
        if delaysWill { time += Int64(plan.terms.willDelay) * 1000 * (1_000_000 + broker.clockError) / 1_000_000 }
        if broker.willsUntil > now {
            if broker.wills == .lost { return log("broker: its will is lost") }
            if broker.wills == .late { time += random.below(60_000) }
        }
        let event = WorldEvent(
            kind: .will,
            gateway: Int32(number),
            generation: broker.run,
            value: session.id.rawValue
        )
        wheel.add(event, at: time)
    }

    func publishWill(_ number: Int, _ event: WorldEvent) {
        guard broker.isUp, broker.run == event.generation else { return }
        let session = SessionID(rawValue: event.value)
        log("broker: the will of gateway \(number): session \(session) is gone")
        broker.gone[number] = session
        for watcher in broker.watchers[number] { sendDown(.gone(Int32(number), session), Int(watcher)) }
    }

    // MARK: - Packets

    func deliverUp(_ number: Int, _ event: WorldEvent) {
        guard gateways[number].connection == event.generation else { return }
        guard let session = broker.sessions[number], session.connection == event.generation else { return }
        guard gateways[number].cutUntil <= now else { return wheel.add(event, at: gateways[number].cutUntil) }
        guard let packet = gateways[number].up.popFirst() else { return }
        broker.sessions[number]?.heardAt = now
        switch packet {
        case .pulse: sendDown(packet, number)
        case .subscribe(let pair):
            broker.isSubscribed[Int(pair)] = true
            if let record = broker.retained[Int(map.sensor[Int(pair)])] {
                sendDown(.message(pair, .record(record), isRetained: true), number)
            }
            sendDown(.subscribed(pair), number)
        case .unsubscribe(let pair): broker.isSubscribed[Int(pair)] = false
        case .watch(let other):
            broker.watchers[Int(other)].append(Int32(number))
            if let gone = broker.gone[Int(other)] { sendDown(.gone(other, gone), number) }
        case .unwatch(let other): broker.watchers[Int(other)].removeAll { $0 == Int32(number) }
        case .publish(let pair, let message): publish(Int(map.sensor[Int(pair)]), message)
        default: break
        }
    }

    private func publish(_ sensor: Int, _ message: LeaseMessage) {
        measures.published += 1
        if case .record(let record) = message { broker.retained[sensor] = record }
        for pair in map.range(of: sensor) where broker.isSubscribed[pair] {
            measures.delivered += 1
            sendDown(.message(Int32(pair), message, isRetained: false), Int(map.gateway[pair]))
        }
    }

    private func sendDown(_ packet: Packet, _ number: Int) {
        guard let connection = broker.sessions[number]?.connection else { return }
        let arrival = max(gateways[number].down.arrival, now + delay(number))
        gateways[number].down.arrival = arrival
        gateways[number].down.append(packet)
        wheel.add(WorldEvent(kind: .deliverDown, gateway: Int32(number), generation: connection), at: arrival)
    }

    // MARK: - Crashes

    enum Memory: Int { case kept, lost, old }

    func crashBroker(_ memory: Memory, for duration: Int64) {
        guard broker.isUp else { return }
        log("broker: crashes, its retained messages are \(memory)")
        broker.isUp = false
        broker.run += 1
        switch memory {
        case .kept: break
        case .lost:
            broker.losses += 1
            broker.retained = Array(repeating: nil, count: plan.sensors)
            broker.gone = Array(repeating: nil, count: plan.gateways)
        case .old:
            broker.losses += 1
            (broker.retained, broker.gone) = broker.saved
        }
        for number in gateways.indices {
            guard let session = broker.sessions[number] else { continue }
            broker.sessions[number] = nil
            for pair in map.pairs[number] { broker.isSubscribed[Int(pair)] = false }
            // Some hear of it at once; to others the connection only becomes silent.
            guard random.below(4) != 0 else { continue }
            let event = WorldEvent(kind: .clientLoses, gateway: Int32(number), generation: session.connection)
            wheel.add(event, at: max(now + delay(number), gateways[number].cutUntil))
        }
        for number in broker.watchers.indices { broker.watchers[number].removeAll() }
        wheel.add(WorldEvent(kind: .brokerStarts), at: now + duration)
    }

    func startBroker() {
        broker.isUp = true
        log("broker: starts")
    }

    func takeSnapshot() {
        broker.saved = (broker.retained, broker.gone)
        wheel.add(WorldEvent(kind: .snapshot), at: now + 120_000 + random.below(300_000))
    }
}
