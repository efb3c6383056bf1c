public import BLEProtocol
public import BLERadio

extension SimulatedAdapter {
    /// Whether a program has made it private.
    public func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        let outcome = core.perform { state -> Result<Bool, BLEError> in
            if state.adapters[id].state == .absent, let error = state.unavailable(id, for: "read privacy") {
                return .failure(error)
            }
            return .success(state.adapters[id].hiding != nil)
        }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// Has it hide behind a private address, which it keeps until ``renewPrivateAddress()``. As on Linux it is switched off and
    /// on for that, unless somebody has a link with it or advertises.
    public func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { $0.setPrivacy(privacy, of: id) }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// The address that is on air: its own, or the private one behind which it hides now.
    public var addressOnAir: BluetoothAddress { core.perform { $0.addressOnAir(of: id) } }

    /// Has one that is private take another address at once, as such devices do every quarter of an hour; its links stay, and
    /// attempts to connect to the former one wait in vain.
    public func renewPrivateAddress() { core.perform { $0.renewPrivateAddress(of: id) } }
}
