internal import BLEProtocol
internal import Glibc

extension DisconnectReason {
    /// Why a socket ended, derived from the error that the kernel made of the HCI status.
    ///
    /// Several statuses share an error, so the status itself is not known. `nil` is an end without an error: the other
    /// end closed, or another call fetched the error. Source: kernel, `net/bluetooth/lib.c`, `bt_to_errno`.
    ///
    /// - Parameters:
    ///   - hasReceived: whether a PDU had arrived on the link.
    ///   - isAdapterUp: whether the adapter is on; one that goes down resets or aborts its connections as a peer does.
    init(endOfSocket error: SystemError?, hasReceived: Bool, isAdapterUp: Bool) {
        let kind: Kind =
            switch error {
            case .connectionReset, nil: isAdapterUp ? .closedByPeer : .adapterOff
            case .connectionAborted: isAdapterUp ? .closedLocally : .adapterOff
            case .timedOut: .supervisionTimeout
            case .accessDenied: .authenticationFailed
            case .badExchange: .keyMissing
            // The kernel uses this one for every status that it doesn't know. By far the most common is 0x3e, which can
            // only come before any PDU has arrived.
            case .notImplemented: hasReceived ? .other : .failedToEstablish
            case .hostDown, .hostUnreachable, .networkDown, .noDevice: isAdapterUp ? .other : .adapterOff
            default: .other
            }
        self.init(kind, systemError: error?.rawValue)
    }
}
