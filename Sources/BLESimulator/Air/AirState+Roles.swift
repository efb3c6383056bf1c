internal import BLEProtocol
internal import BLERadio

/// Adapters that can't be central and peripheral at once: see ``AdapterSettings/combinesRoles``.
extension AirState {
    /// Whether an adapter may connect as a central now.
    func mayBeCentral(_ adapter: AdapterID) -> Bool {
        adapters[adapter].settings.combinesRoles || adapters[adapter].peripheralLinkCount == 0
    }

    /// Whether a central may connect to an adapter now.
    func mayBePeripheral(_ adapter: AdapterID) -> Bool {
        adapters[adapter].settings.combinesRoles || peers(of: adapter, as: .central).isEmpty
    }

    /// Why an adapter can't connect as a central; `nil` if it can.
    func connectObstacle(of adapter: AdapterID) -> BLEError? {
        guard adapters[adapter].state == .poweredOn, !mayBeCentral(adapter) else { return nil }
        return .rolesExclude(adapter: adapters[adapter].name, centrals: peers(of: adapter, as: .peripheral))
    }

    /// The peers of links in which an adapter has this role, in the order of the links.
    func peers(of adapter: AdapterID, as role: LinkRole) -> [BluetoothAddress] {
        adapters[adapter].links.filter { $0.value.role == role }.sorted { $0.value.link < $1.value.link }.map(\.key)
    }
}
