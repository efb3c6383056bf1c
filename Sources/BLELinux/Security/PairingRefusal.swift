internal import BLEProtocol

/// Says who has ended a pairing: the peripheral, or bluetoothd, which every pairing on this machine is put to.
extension BLEError {
    /// - Parameters:
    ///   - consent: Who was asked, and who has answered.
    ///   - agent: What became of the wish that bluetoothd ask this program.
    ///   - isBluetoothdSeen: Whether one runs, as far as this program can see.
    static func pairingRefused(
        by peer: BluetoothAddress,
        consent: PairingConsent,
        agent: PairingAgent.Outcome,
        isBluetoothdSeen: Bool
    ) -> BLEError {
        // Where the kernel has asked nobody, nobody on this machine has refused.
        guard consent.wasAsked else { return .pairingRefused(by: peer) }
        switch agent {
        case .ready where consent.hasAgentAgreed: return .pairingRefused(by: peer)
        case .ready: return .refusedUnasked(peer)
        case .failed(let failure): return .refusedByBluetoothd(peer, because: failure)
        case .notNeeded where isBluetoothdSeen: return .refusedByBluetoothd(peer, because: nil)
        case .notNeeded: return .pairingRefused(by: peer)
        }
    }

    /// bluetoothd says no where it has no agent to ask, and its no counts.
    private static func refusedByBluetoothd(_ peer: BluetoothAddress, because failure: BusFailure?) -> BLEError {
        let why = failure.map { "\($0)" } ?? "it is not on the system bus"
        var error = BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "bluetoothd, which is asked about every pairing, said no: it has no agent to ask, and this program "
                + "could not become one, since \(why)",
            remedy: "Run \"bluetoothctl\", enter \"agent NoInputNoOutput\" and \"default-agent\", keep it running and "
                + "answer yes when it asks; or stop bluetoothd with \"sudo systemctl stop bluetooth\"."
        )
        if case .refused(let name, _)? = failure, name.hasSuffix(".AccessDenied") {
            error.remedy += " Or let the program talk to org.bluez: /etc/dbus-1/system.d/bluetooth.conf says who may."
        }
        return error
    }

    /// bluetoothd has a bond of its own with the peer, and takes no new pairing without one of its own commands.
    private static func refusedUnasked(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "bluetoothd, which is asked about every pairing, said no without asking its agent: it still has a "
                + "bond with the peripheral, which lost it",
            remedy: "Remove that bond with \"bluetoothctl remove \(peer)\", then pair again; or allow it once and for "
                + "all with \"JustWorksRepairing = always\" in /etc/bluetooth/main.conf."
        )
    }

    private static func pairingRefused(by peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "the peripheral refused, or wants a passkey, which this library can't give yet",
            remedy: "Put the peripheral into its pairing mode, and check that it pairs without a passkey."
        )
    }
}
