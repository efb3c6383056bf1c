internal import BLEProtocol
internal import BLERadio

extension AirState {
    mutating func addAdapter(name: String?, address: BluetoothAddress?, settings: AdapterSettings) -> AdapterID {
        let id = adapters.count
        let address = address ?? unusedAddress(near: id)
        precondition(addresses[address] == nil, "the address \(address) is already on the air")
        adapters.append(AdapterRecord(name: name ?? "sim\(id)", address: address, settings: settings))
        addresses[address] = id
        return id
    }

    /// An unused random static address: C0:DE:… and a counter.
    private func unusedAddress(near id: AdapterID) -> BluetoothAddress {
        var number = UInt64(id)
        while true {
            let address = BluetoothAddress(rawValue: 0xC0DE_0000_0000 + number, kind: .random)
            if addresses[address] == nil { return address }
            number += 1
        }
    }

    mutating func observe(_ adapter: AdapterID, events: @escaping @Sendable (AdapterInfo) -> Void) -> ActivityID {
        let id = add(.observe(events), on: adapter)
        adapters[adapter].observers.append(id)
        outbox.append(.adapter(id, adapters[adapter].info))
        return id
    }

    mutating func startListening(
        on adapter: AdapterID,
        events: @escaping @Sendable (ListenEvent) -> Void
    ) -> ActivityID {
        let id = add(.listen(events), on: adapter)
        if let error = unavailable(adapter, for: "listen") {
            fail(id, error)
        } else if !adapters[adapter].listeners.isEmpty {
            fail(id, .alreadyListening(on: adapters[adapter].name))
        } else {
            adapters[adapter].listeners.append(id)
            outbox.append(.listen(id, .started))
        }
        return id
    }

    /// Switches, blocks, unplugs or plugs an adapter.
    mutating func setState(_ state: AdapterInfo.State, of adapter: AdapterID) {
        guard adapters[adapter].state != state else { return }
        adapters[adapter].state = state
        if state == .poweredOff || state == .absent { adapters[adapter].ailment?.powerCycles -= 1 }
        if let ailment = adapters[adapter].ailment, ailment.powerCycles <= 0 { adapters[adapter].ailment = nil }
        if state != .poweredOn { adapters[adapter].outOfBand = nil }
        if state == .absent {
            (adapters[adapter].keys, adapters[adapter].identityKeys) = ([:], [:])
            (adapters[adapter].hiding, adapters[adapter].selectedPHYs) = (nil, nil)
        }
        for observer in adapters[adapter].observers {
            outbox.append(.adapter(observer, adapters[adapter].info))
        }
        if state != .poweredOn { shutDown(adapter) }
    }

    private mutating func shutDown(_ adapter: AdapterID) {
        let record = adapters[adapter]
        let ids =
            scans.filter { $0.adapter == adapter }.map(\.activity) + record.attempts + record.listeners
            + record.advertisements.map(\.activity) + record.pairings + record.receptions
        for id in ids.sorted() {
            guard let activity = activities[id] else { continue }
            var peer: BluetoothAddress?
            switch activity.kind {
            case .connect(let address, _): peer = address
            case .pair(let pairing): peer = pairing.peer
            default: break
            }
            if let error = unavailable(adapter, for: activity.operation, to: peer) { fail(id, error) }
        }
        for id in record.links.values.sorted(by: { $0.link < $1.link }) {
            guard let link = links[id.link] else { continue }
            end(link, id.role, DisconnectReason(.adapterOff))
            if record.state == .poweredOff, !link.isSilent {
                // A host that switches off properly disconnects the peers that it reaches.
                end(link, id.role.opposite, DisconnectReason(.closedByPeer, hciStatus: 0x15))
            } else {
                refreshSilence(of: link)
            }
        }
    }

    /// Why an adapter can't do something now.
    func unavailable(_ adapter: AdapterID, for operation: String, to peer: BluetoothAddress? = nil) -> BLEError? {
        let record = adapters[adapter]
        if record.state == .poweredOff, record.isSwitchedOffHere {
            let object = peer.map { "\($0)" } ?? record.name
            return .switchedOffHere("the simulated adapter \(record.name)", operation: operation, object: object)
        }
        return BLEError(unavailable: record.state, adapter: record.name, operation: operation, peer: peer)
    }

    func activity(of adapter: AdapterID) -> AdapterActivity {
        let record = adapters[adapter]
        var activity = AdapterActivity()
        activity.isScanning = scans.contains { $0.adapter == adapter }
        activity.advertisementCount = record.advertisements.count
        activity.listenerCount = record.listeners.count
        activity.connecting = record.attempts.compactMap { id in
            if case .connect(let peer, _) = activities[id]?.kind { peer } else { nil }
        }
        activity.links = record.links.sorted { $0.value.link < $1.value.link }.map(\.key)
        return activity
    }
}

extension Activity {
    /// The operation's name in errors.
    var operation: String {
        switch kind {
        case .observe: "observe"
        case .scan: "scan"
        case .connect: "connect"
        case .listen: "listen"
        case .advertise: "advertise"
        case .pair: "pair"
        case .receivePairings: "receive pairings"
        }
    }
}
