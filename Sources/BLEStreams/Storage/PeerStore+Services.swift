import BLEProtocol

extension PeerStore {
    private static let forgetting = PendingChange(change: { $0.services = nil }, worth: .forgetting)

    /// Removes what is remembered of a peer's services: for this program immediately, on disk soon.
    func forgetServices(of peer: BluetoothAddress) { update(peer, Self.forgetting) }

    /// Remembers a peer's services in place of others. Where that can't be written, those others are forgotten all the
    /// same: the peer may have told of the change, and doesn't tell the next link again.
    func remember(_ services: ServicesRecord, of peer: BluetoothAddress) {
        update(peer, Self.forgetting, PendingChange(change: { $0.services = services }, worth: .passing))
    }
}
