import Leases

/// A whole world of gateways, sensors and a broker in virtual time, with what goes wrong in it.
///
/// Time is true time in milliseconds; each gateway has a clock of its own, which starts anywhere and runs a little fast
/// or slow. After each event the invariants are checked that the event may have touched.
public final class LeaseWorld {
    let plan: WorldPlan
    let map: WorldMap
    var random: LeaseRandom
    var wheel = EventWheel()
    var gateways: [WorldGateway]
    var broker: WorldBroker

    // For each pair.
    var shadow: [Int16]
    /// Until when the gateway can't connect to the sensor.
    var blockedUntil: [Int64]
    var alarms: [Int64]
    var tenureNumbers: [UInt64]
    var tenureSessions: [UInt64]

    // For each sensor.
    var owners: [Int32]
    var lastOwners: [Int32]
    var endedAt: [Int64]
    var highest: [Epoch]
    var lossesAtHighest: [Int32]

    /// What was wrong so far; at most twenty.
    public internal(set) var findings: [WorldFinding] = []
    /// What was measured so far.
    public internal(set) var measures = WorldMeasures()
    /// What happened, if it was asked for.
    public internal(set) var trace: [String] = []
    let isTraced: Bool

    /// Makes the world of a plan.
    ///
    /// - Parameters:
    ///   - plan: what it is made from.
    ///   - isTraced: whether it keeps what happens in ``trace``.
    public init(_ plan: WorldPlan, isTraced: Bool = false) {
        self.plan = plan
        self.isTraced = isTraced
        random = LeaseRandom(seed: plan.seed)
        map = WorldMap(gateways: plan.gateways, sensors: plan.sensors, random: &random)
        let pairs = map.gateway.count
        gateways = (0..<plan.gateways).map { _ in WorldGateway() }
        broker = WorldBroker(sensors: plan.sensors, gateways: plan.gateways, pairs: pairs)
        shadow = Array(repeating: 0, count: pairs)
        blockedUntil = Array(repeating: 0, count: pairs)
        alarms = Array(repeating: .max, count: pairs)
        tenureNumbers = Array(repeating: 0, count: pairs)
        tenureSessions = Array(repeating: 0, count: pairs)
        owners = Array(repeating: -1, count: plan.sensors)
        lastOwners = owners
        endedAt = Array(repeating: 0, count: plan.sensors)
        highest = Array(repeating: .none, count: plan.sensors)
        lossesAtHighest = Array(repeating: 0, count: plan.sensors)
        for gateway in 0..<plan.gateways {
            wheel.add(WorldEvent(kind: .boot, gateway: Int32(gateway)), at: random.below(20_000))
        }
        planFaults()
        for time in stride(from: plan.calm + plan.bound, to: plan.duration, by: 60_000) {
            wheel.add(WorldEvent(kind: .check), at: time)
        }
    }

    /// The true time.
    public var now: Int64 { wheel.now }

    /// Runs the world to its end, or until something is wrong.
    ///
    /// - Parameter stops: whether the first finding ends it.
    public func run(stopsAtFinding stops: Bool = true) {
        while let event = wheel.take(until: plan.duration) {
            measures.events += 1
            take(event)
            if stops, !findings.isEmpty { break }
        }
        measures.sensorTime += Int64(plan.sensors) * now
        measures.calmTime += Int64(plan.sensors) * max(0, now - plan.calm - plan.bound)
    }

    func log(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        trace.append("\(time(now)) \(text())")
    }

    func report(_ kind: WorldFinding.Kind, sensor: Int, _ text: String) {
        log("WRONG: \(kind.rawValue): \(text)")
        guard findings.count < 20 else { return }
        findings.append(WorldFinding(kind: kind, time: now, text: text, sensor: sensor))
    }

    private func time(_ milliseconds: Int64) -> String {
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.utf8.count) + rest
    }

    // MARK: - Events

    private func take(_ event: WorldEvent) {
        let gateway = Int(event.gateway)
        switch event.kind {
        case .fault: return beginFault(Int(event.pair), gateway)
        case .brokerStarts: return startBroker()
        case .snapshot: return takeSnapshot()
        case .check: return checkOwners()
        case .will: return publishWill(gateway, event)
        case .deliverUp: return deliverUp(gateway, event)
        case .brokerLoses: return loseSession(gateway, event.generation, why: "the connection ended")
        case .keepAlive: return checkKeepAlive(gateway, event)
        default: break
        }
        // What follows happens in the gateway's process, when that isn't suspended.
        let pausedUntil = gateways[gateway].pausedUntil
        guard pausedUntil <= now else { return wheel.add(event, at: pausedUntil) }
        switch event.kind {
        case .boot: boot(gateway)
        case .connect: if isCurrent(event) { connect(gateway) }
        case .report: if isCurrent(event) { hear(gateway, Int(event.pair), event) }
        case .timer:
            if isCurrent(event), alarms[Int(event.pair)] == Int64(event.value) {
                alarms[Int(event.pair)] = .max
                give(.timer(.peripheral(peripheral(Int(event.pair)))), to: gateway)
            }
        case .linkTimer:
            if isCurrent(event), gateways[gateway].linkAlarm == Int64(event.value) {
                gateways[gateway].linkAlarm = .max
                give(.timer(.link), to: gateway)
            }
        case .stored: if isCurrent(event) { finishStoring(gateway, event.value) }
        case .deliverDown: deliverDown(gateway, event)
        case .clientLoses: loseConnection(gateway, event.generation, why: "the connection ended")
        case .pulseTimeout:
            if gateways[gateway].connection == event.generation, gateways[gateway].pulse == event.value {
                loseConnection(gateway, event.generation, why: "no pulse came back")
            }
        default: break
        }
    }

    /// Whether it belongs to the process that runs now.
    private func isCurrent(_ event: WorldEvent) -> Bool {
        gateways[Int(event.gateway)].process == event.generation && gateways[Int(event.gateway)].isRunning
    }

    func peripheral(_ pair: Int) -> PeripheralID { PeripheralID(rawValue: UInt64(map.sensor[pair])) }
}
