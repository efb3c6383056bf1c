import BLEStreams
import Leases
import Synchronization

/// The radio's side: what is heard, what is held, and the jobs of what is held.
extension LeaseDriver {
    /// The peripherals to share: those of the configuration.
    func share(_ peripherals: [Configuration.Peripheral]) {
        var (byAddress, byName): ([BluetoothAddress: Configuration.Peripheral], [String: Configuration.Peripheral])
        (byAddress, byName) = ([:], [:])
        for peripheral in peripherals {
            if let name = peripheral.name { byName[name] = peripheral }
            for address in BluetoothAddress.candidates(for: peripheral.address ?? "") {
                byAddress[address] = peripheral
            }
        }
        state.withLock { [byAddress, byName] in ($0.byAddress, $0.byName) = (byAddress, byName) }
        touch()
    }

    // MARK: - Reception

    /// An advertisement was received.
    func hear(_ discovery: Discovery) {
        let isShared = state.withLock { state in
            let id = Self.id(discovery.address)
            if let name = discovery.name, state.byName[name] != nil { state.names[id] = name }
            guard state.peripheral(discovery.address) != nil else { return false }
            state.addresses[id] = discovery.address
            return true
        }
        if isShared { hear(discovery.address, discovery.rssi) }
    }

    /// A peripheral was received, with this strength; `nil`: as strongly as before.
    func hear(_ address: BluetoothAddress, _ rssi: Int?) {
        let id = Self.id(address)
        let strength = state.withLock { state in
            if let rssi { state.strengths[id] = rssi }
            return state.strengths[id] ?? -90
        }
        give(.heard(id, strength: strength))
        state.withLock { state in
            guard state.addresses.count > state.machine.terms.capacity else { return }
            // More than the machine knows: what isn't held can be heard again.
            state.addresses = state.addresses.filter { state.held[$0.key] != nil }
            state.names = state.names.filter { state.held[$0.key] != nil }
            state.strengths = state.strengths.filter { state.held[$0.key] != nil }
        }
    }

    private static func id(_ address: BluetoothAddress) -> PeripheralID { PeripheralID(rawValue: address.rawValue) }

    // MARK: - What is held

    /// The peripherals that this gateway holds and whose earlier job has ended.
    var tenures: [Tenure] {
        state.withLock { state in
            state.held.keys.sorted { $0.rawValue < $1.rawValue }.compactMap { id in
                guard !state.parting.contains(id), let address = state.addresses[id],
                    let peripheral = state.peripheral(address)
                else { return nil }
                return Tenure(peripheral: peripheral, address: address)
            }
        }
    }

    /// Begins the job of a peripheral.
    ///
    /// - Returns: whether the gateway holds it still; if not, don't begin.
    func begin(_ id: PeripheralID) -> Bool {
        state.withLock { state in
            guard state.held[id] != nil, state.working.insert(id).inserted else { return false }
            return true
        }
    }

    /// The job has ended, and the link is down.
    func end(_ id: PeripheralID) {
        let after = state.withLock { state in
            state.working.remove(id)
            state.parting.remove(id)
            return Aftermath(hasChanged: true)
        }
        finish(after)
    }

    /// Its session is ready.
    func reach(_ id: PeripheralID) { give(.reached(id)) }

    /// It can't be connected to: others may try, if it is heard.
    func giveUp(_ tenure: Tenure) {
        let (after, isGivenUp) = state.withLock { state in
            let wasHeld = state.held[tenure.id] != nil
            let after = handle(.unreachable(tenure.id), &state)
            let isGivenUp = wasHeld && state.held[tenure.id] == nil
            if isGivenUp { state.counts.unreachable += 1 }
            return (after, isGivenUp)
        }
        if isGivenUp {
            let seconds = settings.terms.patience / 1000
            report(
                "\(tenure.peripheral.label): it is heard, but was not ready for \(seconds) s; another gateway may try. "
                    + "Check that it accepts connections, and that this gateway is paired with it if it requires "
                    + "that."
            )
        }
        finish(after)
    }

    /// The members that each message about a peripheral carries: the epoch; `nil`: the lease is over, publish nothing.
    func members(_ id: PeripheralID) -> [(String, JSONText)]? {
        state.withLock { state in
            guard state.held[id] != nil, let epoch = state.machine.epoch(of: id, at: Self.now) else {
                state.counts.fenced += 1
                return nil
            }
            return [("lease", epoch.json)]
        }
    }

    /// The epoch by which a peripheral is held at this moment; `nil`: it isn't.
    func epoch(of id: PeripheralID) -> Epoch? {
        state.withLock { $0.held[id] == nil ? nil : $0.machine.epoch(of: id, at: Self.now) }
    }

    /// Whether it is held at this moment.
    func holds(_ id: PeripheralID) -> Bool {
        state.withLock { $0.held[id] != nil && $0.machine.epoch(of: id, at: Self.now) != nil }
    }

    // MARK: - Counts

    /// What is known about the leases.
    var counts: LeaseCounts {
        state.withLock { state in
            var counts = state.counts
            counts.held = state.held.count
            counts.followed = state.machine.peripherals
            return counts
        }
    }

    /// The member of the health record.
    var health: JSONText {
        let counts = counts
        let epochs = state.withLock { $0.held }.sorted { $0.key.rawValue < $1.key.rawValue }
        return .object(
            ("gateway", .string("\(gateway)")),
            ("connected", .bool(counts.isConnected)),
            ("followed", .number(counts.followed)),
            ("held", .number(counts.held)),
            ("gained", .number(counts.gained)),
            ("lost", .number(counts.lost)),
            ("unreachable", .number(counts.unreachable)),
            ("fenced", .number(counts.fenced)),
            ("epochs", .object(epochs.map { ("\($0.key)", .number(Int($0.value.number))) }))
        )
    }
}

extension LeaseDriver.State {
    /// The peripheral of the configuration that has this address, as far as is known.
    fileprivate func peripheral(_ address: BluetoothAddress) -> Configuration.Peripheral? {
        byAddress[address] ?? names[PeripheralID(rawValue: address.rawValue)].flatMap { byName[$0] }
    }
}

extension Epoch {
    /// The member `lease` of a message.
    var json: JSONText {
        .object(("epoch", .number(Int(clamping: number))), ("gateway", .string("\(gateway)")))
    }
}
