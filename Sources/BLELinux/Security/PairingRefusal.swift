internal import BLEProtocol
internal import BLERadio

/// Says who has ended a pairing: the other device, or bluetoothd, which every pairing on this machine is put to.
extension BLEError {
    /// - Parameters:
    ///   - consent: Who was asked, and who has answered.
    ///   - agent: What became of the wish that bluetoothd ask this program.
    ///   - bluetoothd: Whether it runs, as far as the list of processes tells.
    ///   - isBonded: Whether the kernel has keys of a bond with the peer, which bluetoothd gave it; `nil`: nobody can tell.
    static func pairingRefused(
        by peer: BluetoothAddress,
        as role: PairingDialogue.Role = .initiator,
        consent: PairingConsent,
        agent: PairingAgent.Outcome,
        bluetoothd: Bluetoothd.Presence,
        isBonded: @autoclosure () -> Bool? = nil
    ) -> BLEError {
        let other =
            role == .initiator
            ? BLEError.pairingFailed(with: peer, consent.mismatch ?? .refusedByPeripheral)
            : BLEError.pairingFailed(by: peer, consent.mismatch ?? .refusedByCentral)
        // Where the kernel has asked nobody, nobody on this machine has refused.
        guard consent.wasAsked else { return other }
        // A bus that nobody listens on may have left its socket behind.
        guard bluetoothd != .absent else { return other }
        switch agent {
        case .ready where consent.hasAgentAgreed || consent.question != nil: return other
        // One that ends a pairing at once may have been quicker than bluetoothd was to ask; and without a bond of its own
        // bluetoothd always asks.
        case .ready where role != .initiator && isBonded() == false: return other
        case .ready: return .refusedUnasked(peer, as: role)
        case .failed(let failure): return .refusedByBluetoothd(peer, because: failure)
        case .notNeeded where bluetoothd == .here: return .refusedByBluetoothd(peer, because: nil)
        case .notNeeded: return other
        }
    }

    /// The link ended before a pairing that was begun here did, and nobody here has refused.
    static func pairingBroken(with peer: BluetoothAddress, _ end: ManagementDisconnectReason) -> BLEError {
        // The Security Manager drops the link when a step has taken too long.
        if end == .localHost { return .pairingFailed(with: peer, .timedOut) }
        let reason = DisconnectReason(end.kind)
        var error = BLEError(
            .disconnected,
            operation: "pair",
            object: "with \(peer)",
            cause: "the link ended before the pairing did: \(reason)",
            remedy: "Pair again, near the peripheral; if it ends each time, put the peripheral into its pairing mode."
        )
        error.reason = reason
        return error
    }

    /// bluetoothd says no where it has no agent to ask, and its no counts.
    private static func refusedByBluetoothd(_ peer: BluetoothAddress, because failure: BusFailure?) -> BLEError {
        let why = failure.map { "\($0)" } ?? "it is not on the system bus"
        var error = BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "bluetoothd, which decides about every pairing, refused: it has no agent, and this program "
                + "could not register one: \(why)",
            remedy: "Run \"bluetoothctl\", enter \"agent NoInputNoOutput\" and \"default-agent\", keep it running and "
                + "answer yes when it asks; or stop bluetoothd with \"sudo systemctl stop bluetooth\"."
        )
        if case .refused(let name, _)? = failure, name.hasSuffix(".AccessDenied") {
            error.remedy += " Or allow the program to talk to org.bluez in /etc/dbus-1/system.d/bluetooth.conf."
        }
        error.pairingFailure = .refusedByBluetoothd
        return error
    }

    /// A link that is encrypted is paired anew with what this machine could do for a person when the link was made; the adapter
    /// is bluetoothd's to set.
    static func capabilityIsBluetoothds(_ peer: BluetoothAddress) -> BLEError {
        var error = BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "nobody here was asked: on an encrypted link Linux pairs with the capability that the adapter "
                + "had when the link was made; while bluetoothd runs, that is the capability of bluetoothd's agent",
            remedy: "Remove the bond with Peripheral.unpair() and pair again, which lets this program answer; "
                + "or stop bluetoothd with \"sudo systemctl stop bluetooth\"."
        )
        error.pairingFailure = .refusedByBluetoothd
        return error
    }

    /// bluetoothd has a bond of its own with the peer, and takes no new pairing without one of its own commands.
    private static func refusedUnasked(_ peer: BluetoothAddress, as role: PairingDialogue.Role) -> BLEError {
        let other = role == .initiator ? "peripheral" : "central"
        var error = BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "bluetoothd, which decides about every pairing, refused without asking its agent: it still has a "
                + "bond with the \(other), which has lost it",
            remedy: "Remove that bond with \"bluetoothctl remove \(peer)\", then pair again; or allow it "
                + "permanently with \"JustWorksRepairing = always\" in /etc/bluetooth/main.conf."
        )
        error.pairingFailure = .refusedByBluetoothd
        return error
    }
}

extension PairingConsent {
    /// What is wrong where this machine has said nothing but yes. The kernel doesn't tell the peer's reason.
    fileprivate var mismatch: PairingFailure? {
        switch (question, answer) {
        case (.passkey, .passkey), (.display, _): .wrongPasskey
        default: nil
        }
    }
}
