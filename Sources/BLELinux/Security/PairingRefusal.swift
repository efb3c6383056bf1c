internal import BLEProtocol
internal import BLERadio

/// Determines who has ended a pairing: the other device, or bluetoothd, which is asked about every pairing on this
/// machine.
extension BLEError {
    /// - Parameters:
    ///   - consent: who was asked, and who has answered.
    ///   - agent: the outcome of the registration as bluetoothd's agent.
    ///   - bluetoothd: whether it runs, as far as the list of processes shows.
    ///   - isBonded: whether the kernel has a bond's keys for the peer, given by bluetoothd; `nil`: not known.
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
        // If the kernel has not asked, nobody on this machine has refused.
        guard consent.wasAsked else { return other }
        // A bus that has ended may have left its socket behind.
        guard bluetoothd != .absent else { return other }
        switch agent {
        case .ready where consent.hasAgentAgreed || consent.question != nil: return other
        case .ready: return .refusedUnasked(peer, as: role, isBonded: isBonded(), other)
        case .awaited: return role == .initiator ? .refusedByNewBluetoothd(peer) : .refusedTooSoon(peer)
        case .failed(let failure): return .refusedByBluetoothd(peer, because: failure)
        case .notNeeded where bluetoothd == .here: return .refusedByBluetoothd(peer, because: nil)
        case .notNeeded: return other
        }
    }

    /// The link ended before a pairing that was begun here, and nobody here has refused.
    ///
    /// - Parameter hasBegun: whether the kernel was asked to pair.
    static func pairingBroken(
        with peer: BluetoothAddress,
        _ end: ManagementDisconnectReason,
        hasBegun: Bool = true
    ) -> BLEError {
        // The Security Manager drops the link when a step has taken too long.
        if end == .localHost, hasBegun { return .pairingFailed(with: peer, .timedOut) }
        return .endedWhilePairing(with: peer, DisconnectReason(end.kind))
    }

    /// A pairing that was begun here has come to no end in the time that one can take, after a loss of the kernel's
    /// events.
    static func pairingEndedUnseen(with peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "it is not known how the pairing ended: the kernel's report was lost, since this program was too "
                + "slow to read it",
            remedy: "Remove the bond on both devices, here with Peripheral.unpair(), then pair again: if the pairing "
                + "has succeeded, there is a bond here that would last only until this program ends."
        )
    }

    /// A pairing that was begun here was ended after a loss of the kernel's events: without its question, nobody would
    /// answer it.
    static func pairingQuestionLost(with peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "events of the kernel were lost, since this program was too slow to read them, and the pairing's "
                + "question or its end may be among them; the pairing was ended",
            remedy: "Pair again; if it happens each time, end scans meanwhile, and don't block the thread of "
                + "Central.executor.",
            isFinal: false
        )
    }

    /// A pairing that was begun here has succeeded, and the keys of its bond are not known.
    static func pairingKeysLost(with peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "the devices have paired, but the kernel's report of the keys was lost, since this program was too "
                + "slow to read it; there would be no bond after a restart, so the keys were removed from the adapter, "
                + "and the link was dropped",
            remedy: "Connect and pair again; if the peripheral refuses, remove the bond there first.",
            isFinal: false
        )
    }

    /// A pairing that a central began was ended after a loss of the kernel's events: without its question, nobody would
    /// answer it.
    static func pairingQuestionLost(by central: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(central), which began it",
            cause: "events of the kernel were lost, since this program was too slow to read them, and the pairing's "
                + "question may be among them; the pairing was ended",
            remedy: "Pair again from the central; if it happens each time, end scans meanwhile, and don't block the "
                + "thread of Central.executor.",
            isFinal: false
        )
    }

    /// A pairing that a central began is over, since it pairs again, and the kernel's report of its end was lost.
    static func pairingEndedUnseen(by central: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(central), which began it",
            cause: "it is not known how the pairing ended: the kernel's report was lost, since this program was too "
                + "slow to read it; the central has begun to pair again",
            remedy: "Wait for the new pairing's outcome; if that fails too, remove the bond on both devices, here "
                + "with Peripheral.unpair(), then pair again from the central."
        )
    }

    /// A central that began a pairing has left, and the kernel's report of its end and of the keys may have been lost.
    static func pairingLeftUnseen(by central: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(central), which began it",
            cause: "it is not known whether the pairing succeeded: the kernel's report was lost, since this program "
                + "was too slow to read it, and the central has left; a bond would last only until this program ends",
            remedy: "Remove the bond on both devices, here with Peripheral.unpair(), then pair again from the central."
        )
    }

    /// bluetoothd refuses if it has no agent to ask, and its refusal counts.
    private static func refusedByBluetoothd(_ peer: BluetoothAddress, because failure: BusFailure?) -> BLEError {
        let why = failure.map { "\($0)" } ?? "it is not on the system bus"
        var error = pairingEnded(
            "with \(peer)",
            cause: "bluetoothd, which decides about every pairing, refused: it has no agent, and this program "
                + "could not register one: \(why)",
            remedy: "Run \"bluetoothctl\", enter \"agent NoInputNoOutput\" and \"default-agent\", keep it running and "
                + "answer yes when it asks; or stop bluetoothd with \"sudo systemctl stop bluetooth\".",
            failure: .refusedByBluetoothd
        )
        if failure?.isDenial == true {
            error.remedy += " Or allow the program to talk to org.bluez in /etc/dbus-1/system.d/bluetooth.conf."
        }
        return error
    }

    /// bluetoothd was not there when the pairing began, and so knows no agent of this program's.
    static func refusedByNewBluetoothd(_ peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "bluetoothd, which decides about every pairing, was started during this one and refused, since it "
                + "has no agent yet; or the peripheral refused",
            remedy: "Pair again: then bluetoothd asks this program.",
            failure: .refusedByBluetoothd,
            isFinal: false
        )
    }

    /// A central has paired before this program has become the agent of bluetoothd, which may only just have started.
    private static func refusedTooSoon(_ peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer), which began it",
            cause: "bluetoothd, which decides about every pairing, refused, since it had no agent yet; or the central "
                + "refused",
            remedy: "Pair again from the central: by then, bluetoothd asks this program.",
            failure: .refusedByBluetoothd,
            isFinal: false
        )
    }

    /// A new pairing on an encrypted link uses the capability that the adapter had when the link was made, which
    /// bluetoothd sets.
    static func capabilityIsBluetoothds(_ peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "nobody here was asked: on an encrypted link Linux pairs with the capability that the adapter "
                + "had when the link was made; while bluetoothd runs, that is the capability of bluetoothd's agent",
            remedy: "Remove the bond with Peripheral.unpair() and pair again, which lets this program answer; "
                + "or stop bluetoothd with \"sudo systemctl stop bluetooth\".",
            failure: .refusedByBluetoothd
        )
    }

    /// Out-of-band data is used only in the pairing of a link that is not encrypted.
    static func outOfBandDataTooLate(with peer: BluetoothAddress) -> BLEError {
        pairingEnded(
            "with \(peer)",
            cause: "on a link that is already encrypted, Linux doesn't pair with out-of-band data alone",
            remedy: "Pass answers that can enter a passkey or compare numbers; or remove the bond on both devices, "
                + "here with Peripheral.unpair(), then connect and pair again with the data."
        )
    }

    /// bluetoothd has its own bond with the peer, and accepts no new pairing without one of its own commands; or it has
    /// asked another program. It asks the newest of its agents, whichever program pairs.
    ///
    /// - Parameters:
    ///   - isBonded: whether there is such a bond; without one, bluetoothd always asks.
    ///   - other: the error if the peer has refused. A central that ends a pairing immediately may have been quicker
    ///     than bluetoothd's question.
    private static func refusedUnasked(
        _ peer: BluetoothAddress,
        as role: PairingDialogue.Role,
        isBonded: Bool?,
        _ other: BLEError
    ) -> BLEError {
        let peripheralOrCentral = role == .initiator ? "peripheral" : "central"
        let rival = "another program, which pairs at the same time or has become bluetoothd's agent since"
        let alone =
            "Pair again while no other program pairs, or answers for bluetoothd as bluetoothctl and a "
            + "desktop's settings do."
        if role != .initiator, isBonded == false {
            var error = other
            error.cause += "; or bluetoothd asked \(rival)"
            error.remedy += " \(alone)"
            return error
        }
        let bond = "it still has a bond with the \(peripheralOrCentral), which has lost it"
        let removal =
            "Remove that bond with \"bluetoothctl remove \(peer)\", then pair again; or allow it "
            + "permanently with \"JustWorksRepairing = always\" in /etc/bluetooth/main.conf."
        let (why, remedy) =
            switch isBonded {
            case true?: (bond, removal)
            case false?: ("it asked \(rival)", alone)
            case nil: ("\(bond), or it asked \(rival)", "\(alone) If that doesn't help: \(removal)")
            }
        return pairingEnded(
            "with \(peer)",
            cause: "bluetoothd, which decides about every pairing, refused without asking this program: \(why)",
            remedy: remedy,
            failure: .refusedByBluetoothd
        )
    }

    /// - Parameters:
    ///   - object: the other device, and whether it began the pairing.
    ///   - isFinal: whether pairing again would end in the same way.
    private static func pairingEnded(
        _ object: String,
        cause: String,
        remedy: String,
        failure: PairingFailure? = nil,
        isFinal: Bool = true
    ) -> BLEError {
        var error = BLEError(.securityFailed, operation: "pair", object: object, cause: cause, remedy: remedy)
        error.pairingFailure = failure
        error.isFinal = isFinal
        return error
    }
}

extension PairingConsent {
    /// The failure if this machine has accepted everything. The kernel doesn't report the peer's reason.
    fileprivate var mismatch: PairingFailure? {
        switch (question, answer) {
        case (.passkey, .passkey), (.display, _): .wrongPasskey
        default: nil
        }
    }
}
