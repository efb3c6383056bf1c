import BLESimulator
import BLEStreams
import Synchronization

/// A whole world that runs: an air, its adapters, and what was found so far.
final class World: Sendable {
    /// Something that isn't as it should be.
    struct Finding: Sendable {
        /// What kind it is: a smaller world that fails in the same way has one of the same.
        let kind: String
        let text: String
    }

    private struct State {
        var findings: [Finding] = []
        var features: Set<String> = []
        var lines: [String] = []
        var serials: [NumberedValue.Channel: [Int: UInt32]] = [:]
        var faults: Set<String> = []
    }

    let plan: WorldPlan
    let time: VirtualTime
    let air: SimulatedAir
    let watch: AirWatch
    let centralAdapters: [SimulatedAdapter]
    let centrals: [Central]
    private let adapters: [Int: SimulatedAdapter]
    /// What the peripherals keep, however often they begin anew.
    private let stores: [Int: PeerStore]
    private let isTraced: Bool
    private let state = Mutex(State())

    init(_ plan: WorldPlan, _ time: VirtualTime, isTraced: Bool) async throws {
        self.plan = plan
        self.time = time
        self.isTraced = isTraced
        air = SimulatedAir(time)
        let addresses = (0..<WorldPlan.centrals).map {
            BluetoothAddress(rawValue: 0xC0CE_0000_0000 + UInt64($0), kind: .random)
        }
        watch = AirWatch(centrals: addresses)
        let air = air
        centralAdapters = addresses.map { air.adapter(address: $0) }
        adapters = Dictionary(
            uniqueKeysWithValues: plan.peripherals.map {
                ($0.number, air.adapter(address: $0.address, settings: $0.settings))
            }
        )
        stores = Dictionary(uniqueKeysWithValues: plan.peripherals.map { ($0.number, .inMemory()) })
        var centrals: [Central] = []
        for adapter in centralAdapters {
            centrals.append(try await Central.open(.radio(adapter), pairing: PairingAnswers()))
        }
        self.centrals = centrals
        air.observeTrace { [watch, weak self] record in
            watch.note(record)
            self?.logLine("\(record)")
        }
    }

    /// The adapter of a peripheral that the plan has.
    func adapter(of peripheral: Int) -> SimulatedAdapter? { adapters[peripheral] }

    func store(of peripheral: Int) -> PeerStore? { stores[peripheral] }

    func peripheral(_ number: Int, of central: Int) -> Peripheral {
        centrals[central].peripheral(BluetoothAddress(rawValue: 0xC0DE_0000_0000 + UInt64(number), kind: .random))
    }

    // MARK: - What is noted

    var findings: [Finding] {
        // A peripheral that is bonded remembers what was subscribed to when a link was lost, and sends it on the next one
        // though nobody wants it there: not looked at.
        let unwanted = watch.unwanted.filter { !peripheral($0.route.peripheral, of: $0.route.central).isBonded }
        return state.withLock { $0.findings }
            + (watch.problems + unwanted.map(\.text)).map { Finding(kind: "air", text: $0) }
    }

    var features: Set<String> { state.withLock { $0.features }.union(watch.features) }

    var lines: [String] { state.withLock { $0.lines } }

    func report(_ text: String, _ kind: String) {
        log("WRONG: \(text)")
        state.withLock { state in
            // A world that has gone wrong a hundred times has gone wrong.
            if state.findings.count < 20 { state.findings.append(Finding(kind: kind, text: "at \(time.now): \(text)")) }
        }
    }

    func log(_ text: @autoclosure () -> String) { logLine("\(time.now): \(text())") }

    private func logLine(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        let text = text()
        state.withLock { $0.lines.append(text) }
    }

    /// Notes that the world has reached something, by itself and while each of the faults lasts.
    func reached(_ feature: String) {
        state.withLock { state in
            state.features.insert(feature)
            for fault in state.faults { state.features.insert("\(feature), \(fault)") }
        }
    }

    func begins(_ fault: PlannedFault) { state.withLock { _ = $0.faults.insert(fault.family) } }

    /// The next value of a peripheral's characteristic.
    func next(of peripheral: Int, _ channel: NumberedValue.Channel) -> NumberedValue {
        state.withLock { state in
            let serial = state.serials[channel]?[peripheral] ?? 0
            state.serials[channel, default: [:]][peripheral] = serial + 1
            return NumberedValue(peripheral: peripheral, channel: channel, serial: serial)
        }
    }
}
