internal import BLEProtocol
internal import BLERadio

/// The environment of a pairing, in either role.
struct PairingSurroundings: Sendable {
    var management: ManagementSocket
    var keys: KernelKeys
    var settings: PairingSettings
    /// The system's name for the adapter: `hci0`.
    var adapter: String
    /// The adapter; `nil` while it is absent.
    var facts: @Sendable () -> AdapterFacts?
    /// The peers of the links on which the adapter is the peripheral, in any kind of address; empty if the kernel
    /// doesn't say.
    var centrals: @Sendable () -> [BluetoothAddress] = { [] }
    /// Whether the adapter has made a link that the kernel reports, and its peer is no central.
    var hasMade: @Sendable (ManagementDeviceConnected) -> Bool = { $0.flags.contains(.initiatedHere) }
    /// Learns which pairings are this program's own.
    var unasked: UnaskedPairings?
    /// Learns the same.
    var security: SecurityWatch?
    var leftovers: Leftovers
    /// The bus on which bluetoothd is reached.
    var bus: SystemBus
    /// Whether bluetoothd runs, as far as the list of processes shows.
    var bluetoothd: Bluetoothd.Presence
    var loop: EventLoop
    var timeline: any Timeline

    /// Notes that the kernel is given a peer's out-of-band data, in case this program is killed: it would use them in
    /// each later pairing with the peer, in vain. `nil` if another pairing has noted its own.
    func noteOutOfBandData() -> LeftoverNote? {
        facts().flatMap { leftovers.note(KernelThing(.outOfBandData, 0, of: $0)) }
    }
}

extension LinuxRadio {
    /// Don't call it on the loop's thread: it reads files, to learn whether bluetoothd runs.
    ///
    /// - Parameter operation: the operation to name if the system gives no management socket: `pair`.
    func pairingSurroundings(for operation: String, object: String) throws(BLEError) -> PairingSurroundings {
        guard let management, let pairingSettings else {
            throw adapter.missingAdministration(for: operation, object: object)
        }
        return PairingSurroundings(
            management: management,
            keys: keys,
            settings: pairingSettings,
            adapter: adapter.name,
            facts: { [adapter] in adapter.facts },
            centrals: { [adapter] in adapter.peers(asCentral: false) },
            hasMade: { [adapter] in adapter.hasMade($0) },
            unasked: unasked,
            security: security,
            leftovers: leftovers,
            bus: bus,
            bluetoothd: Bluetoothd.presenceByProcesses(on: adapter.kernel),
            loop: loop,
            timeline: timeline
        )
    }
}
