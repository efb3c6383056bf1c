internal import BLEProtocol
internal import BLERadio

/// What a pairing works with, in either role.
struct PairingSurroundings: Sendable {
    var management: ManagementSocket
    var keys: KernelKeys
    var settings: PairingSettings
    /// The system's name for the adapter: `hci0`.
    var adapter: String
    /// The adapter; `nil` while it isn't there.
    var facts: @Sendable () -> AdapterFacts?
    var leftovers: Leftovers
    /// Where bluetoothd is met.
    var bus: SystemBus
    /// Whether bluetoothd runs, as far as the list of processes tells.
    var bluetoothd: Bluetoothd.Presence
    var loop: EventLoop
    var timeline: any Timeline
}

extension LinuxRadio {
    /// Not for the loop's thread: files are read, to learn whether bluetoothd runs.
    ///
    /// - Parameter operation: what is refused where the system gives no management socket: `pair`.
    func pairingSurroundings(for operation: String, object: String) throws(BLEError) -> PairingSurroundings {
        guard let management, let pairingSettings else {
            throw .missingCapability(.networkAdministration, operation: operation, object: object)
        }
        return PairingSurroundings(
            management: management,
            keys: keys,
            settings: pairingSettings,
            adapter: adapter.name,
            facts: { [adapter] in adapter.facts },
            leftovers: leftovers,
            bus: bus,
            bluetoothd: Bluetoothd.presenceByProcesses(on: adapter.kernel),
            loop: loop,
            timeline: timeline
        )
    }
}
