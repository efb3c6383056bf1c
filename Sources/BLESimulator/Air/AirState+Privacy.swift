internal import BLEProtocol
internal import BLERadio

/// The key of an adapter's private addresses, and its current address.
struct Hiding: Hashable, Sendable {
    let key: SecretKey
    var address: BluetoothAddress
}

/// Adapters with private addresses: peers that got the adapter's key in a pairing recognise it.
extension AirState {
    mutating func setPrivacy(_ privacy: AdapterPrivacy, of adapter: AdapterID) -> Result<Void, BLEError> {
        let record = adapters[adapter]
        if record.state == .absent, let error = unavailable(adapter, for: "set privacy") { return .failure(error) }
        let key = privacy.isOn ? privacy.keys[record.address] : nil
        guard key != nil || !privacy.isOn else {
            return .failure(.hasNoPrivacy(record.name, operation: "set privacy"))
        }
        guard key != record.hiding?.key else { return .success(()) }
        let isOn = record.state == .poweredOn
        if isOn, !privacy.interrupts {
            if let peer = record.links.keys.min(by: { $0.rawValue < $1.rawValue }) {
                return .failure(.privacyWouldInterrupt("the link with \(peer)", of: record.name))
            }
            guard record.advertisements.isEmpty else {
                return .failure(.privacyWouldInterrupt("its advertising", of: record.name))
            }
            guard !hasMonitor(adapter) else {
                return .failure(.privacyWouldInterrupt("a passive scan", of: record.name))
            }
        }
        if isOn {
            adapters[adapter].isSwitchedOffHere = true
            setState(.poweredOff, of: adapter)
        }
        adapters[adapter].hiding = key.map { Hiding(key: $0, address: record.address) }
        renewPrivateAddress(of: adapter)
        if isOn { setState(.poweredOn, of: adapter) }
        return .success(())
    }

    /// Whether it has a scan for which Linux has an advertisement monitor: it doesn't show other scans.
    private func hasMonitor(_ adapter: AdapterID) -> Bool {
        scans.contains { $0.adapter == adapter && (!$0.request.isActive || $0.request.reportsDuplicates) }
    }

    /// Former addresses still lead to the adapter for links that use them, but are no longer on air.
    mutating func renewPrivateAddress(of adapter: AdapterID) {
        guard let key = adapters[adapter].hiding?.key else { return }
        var address = key.privateAddress(timeline.randomBits())
        while addresses[address] != nil { address = key.privateAddress(timeline.randomBits()) }
        addresses[address] = adapter
        adapters[adapter].hiding?.address = address
        wakeAdvertisements(of: adapter)
    }

    func addressOnAir(of adapter: AdapterID) -> BluetoothAddress {
        adapters[adapter].hiding?.address ?? adapters[adapter].address
    }

    /// The address by which one adapter knows another that it receives: its identity address if it has the key.
    func name(of other: AdapterID, to adapter: AdapterID) -> BluetoothAddress {
        guard let hiding = adapters[other].hiding else { return adapters[other].address }
        let identity = adapters[other].address
        return adapters[adapter].identityKeys[identity] == hiding.key ? identity : hiding.address
    }

    /// The addresses under which others may wait for an adapter now.
    func names(of other: AdapterID) -> [BluetoothAddress] {
        let (identity, onAir) = (adapters[other].address, addressOnAir(of: other))
        return identity == onAir ? [identity] : [identity, onAir]
    }

    /// Whether an attempt to connect to an address leads to an adapter.
    func leads(_ peer: BluetoothAddress, from adapter: AdapterID, to other: AdapterID) -> Bool {
        peer == addressOnAir(of: other) || peer == name(of: other, to: adapter)
    }

    /// An adapter's end of its link with a device, by any of the device's addresses.
    func link(of adapter: AdapterID, with peer: BluetoothAddress) -> LinkEndID? {
        addresses[peer].flatMap { adapters[adapter].links[adapters[$0].address] }
    }
}
