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
        var centrals: [Central] = []
        /// Those whose programs have ended.
        var former: [(number: Int, central: Central)] = []
        /// How many programs receive a message, of which central from which peripheral.
        var messageReceivers: [[Int]: MessageReceivers] = [:]
        /// The peripherals with which a central has had a session that it keeps.
        var keptSessions: [Int: Set<Int>] = [:]
        /// What the peripherals keep, however often they begin anew.
        var stores: [Int: PeerStore] = [:]
    }

    let plan: WorldPlan
    let time: VirtualTime
    let air: SimulatedAir
    let watch: AirWatch
    /// One for each central; where the last one has two adapters as one, the second of them comes behind.
    let centralAdapters: [SimulatedAdapter]
    private let adapters: [Int: SimulatedAdapter]
    private let receivers: [Int: FirmwareReceivers]
    /// What the centrals keep.
    private let centralStores: [PeerStore]
    private let isTraced: Bool
    private let state = Mutex(State())

    init(_ plan: WorldPlan, _ time: VirtualTime, isTraced: Bool) async throws {
        self.plan = plan
        self.time = time
        self.isTraced = isTraced
        air = SimulatedAir(time)
        let count = WorldPlan.centrals + (plan.isJoined ? 1 : 0)
        let addresses = (0..<count).map {
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
        let updatable = plan.peripherals.filter(\.isUpdatable)
        receivers = Dictionary(uniqueKeysWithValues: updatable.map { ($0.number, FirmwareReceivers()) })
        centralStores = (0..<WorldPlan.centrals).map { _ in .inMemory() }
        for planned in plan.peripherals { renewStore(of: planned.number) }
        for number in 0..<WorldPlan.centrals {
            let central = try await open(number)
            state.withLock { $0.centrals.append(central) }
        }
        air.observeTrace { [watch, weak self] record in
            watch.note(record)
            self?.logLine("\(record)")
        }
    }

    // MARK: - Centrals

    private func open(_ number: Int) async throws -> Central {
        let isJoined = plan.isJoined && number == WorldPlan.centrals - 1
        let choice: AdapterChoice =
            isJoined ? .joined(centralAdapters[number...].map { .radio($0) }) : .radio(centralAdapters[number])
        return try await Central.open(choice, store: centralStores[number], pairing: PairingAnswers())
    }

    func central(_ number: Int) -> Central { state.withLock { $0.centrals[number] } }

    /// Those that are there and those that were, each with its number.
    var allCentrals: [(number: Int, central: Central)] {
        state.withLock { state in
            state.centrals.enumerated().map { ($0, $1) } + state.former
        }
    }

    /// Opens a central anew, with what the one before has stored.
    func reopen(_ number: Int) async throws {
        let central = try await open(number)
        state.withLock { state in
            state.former.append((number, state.centrals[number]))
            state.centrals[number] = central
        }
    }

    /// Notes that a central keeps a session with a peripheral.
    func noteKept(_ peripheral: Int, by central: Int) {
        state.withLock { _ = $0.keptSessions[central, default: []].insert(peripheral) }
    }

    func keptSessions(of central: Int) -> Set<Int> { state.withLock { $0.keptSessions[central] ?? [] } }

    // MARK: - Peripherals

    /// The adapter of a peripheral that the plan has.
    func adapter(of peripheral: Int) -> SimulatedAdapter? { adapters[peripheral] }

    func receivers(of peripheral: Int) -> FirmwareReceivers? { receivers[peripheral] }

    func store(of peripheral: Int) -> PeerStore? { state.withLock { $0.stores[peripheral] } }

    /// What a peripheral has kept is gone when it begins anew.
    func renewStore(of peripheral: Int) { state.withLock { $0.stores[peripheral] = .inMemory() } }

    func peripheral(_ number: Int, of central: Int) -> Peripheral {
        self.central(central).peripheral(BluetoothAddress(rawValue: 0xC0DE_0000_0000 + UInt64(number), kind: .random))
    }

    /// The number of the one with an address.
    func number(of address: BluetoothAddress) -> Int? { plan.peripherals.first { $0.address == address }?.number }

    // MARK: - Messages

    /// Those of a central's programs that receive a message of one peripheral.
    struct MessageReceivers {
        var count = 0
        /// How many have begun so far.
        var begun = 0
    }

    /// Notes that a program receives a message; answers its number, or `nil` if another one of its central does
    /// already.
    func beginsMessage(_ number: Int, of central: Int) -> Int? {
        state.withLock { state in
            var receivers = state.messageReceivers[[number, central]] ?? MessageReceivers()
            receivers.count += 1
            receivers.begun += 1
            state.messageReceivers[[number, central]] = receivers
            return receivers.count == 1 ? receivers.begun : nil
        }
    }

    /// Whether a program that began with this number is still the last one: another one may have subscribed before it.
    func isAlone(_ receiver: Int?, _ number: Int, of central: Int) -> Bool {
        state.withLock { receiver != nil && $0.messageReceivers[[number, central]]?.begun == receiver }
    }

    func endsMessage(_ number: Int, of central: Int) {
        state.withLock { $0.messageReceivers[[number, central]]?.count -= 1 }
    }

    // MARK: - What is noted

    var findings: [Finding] {
        state.withLock { $0.findings } + watch.problems.map { Finding(kind: "air", text: $0) }
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
