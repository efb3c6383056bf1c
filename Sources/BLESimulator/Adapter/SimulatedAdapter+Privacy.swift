public import BLEProtocol
public import BLERadio

extension SimulatedAdapter {
    /// Reads whether a program has made the adapter private.
    public func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        let outcome = core.perform { state -> Result<Bool, BLEError> in
            if state.adapters[id].state == .absent, let error = state.unavailable(id, for: "read privacy") {
                return .failure(error)
            }
            return .success(state.adapters[id].hiding != nil)
        }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// Switches private addresses on or off. The adapter keeps a private address until ``renewPrivateAddress()``. As on
    /// Linux, the change switches the adapter off and on; it fails with ``BLEError/Code/busy`` if the adapter has a
    /// link, advertises, or scans passively or for every advertisement, unless `AdapterPrivacy.interrupts` is true.
    public func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { $0.setPrivacy(privacy, of: id) }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// The address on air: its own, or its current private one.
    public var addressOnAir: BluetoothAddress { core.perform { $0.addressOnAir(of: id) } }

    /// Changes its private address immediately, as such devices do every quarter of an hour; its links stay up, and
    /// attempts to connect to the former address wait in vain.
    public func renewPrivateAddress() { core.perform { $0.renewPrivateAddress(of: id) } }
}
