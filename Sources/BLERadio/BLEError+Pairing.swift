package import BLEProtocol

extension BLEError {
    /// A pairing has failed for a known reason.
    package static func pairingFailed(with peer: BluetoothAddress, _ failure: PairingFailure) -> BLEError {
        let (cause, remedy) = failure.words
        var error = BLEError(.securityFailed, operation: "pair", object: "with \(peer)", cause: cause, remedy: remedy)
        error.pairingFailure = failure
        return error
    }

    /// The link ended before a pairing that was begun here, and nobody here has refused.
    package static func endedWhilePairing(with peer: BluetoothAddress, _ reason: DisconnectReason) -> BLEError {
        let remedy =
            reason.kind == .adapterOff
            ? "Switch the adapter on, or plug it in; then connect, and pair again."
            : "Pair again, near the peripheral; if it ends each time, put the peripheral into its pairing mode."
        var error = BLEError(
            .disconnected,
            operation: "pair",
            object: "with \(peer)",
            cause: "the link ended before the pairing did: \(reason.kind.words)",
            remedy: remedy
        )
        error.reason = reason
        return error
    }
}

extension BLEError {
    /// A pairing that a central began has failed for a known reason.
    package static func pairingFailed(by central: BluetoothAddress, _ failure: PairingFailure) -> BLEError {
        let (cause, remedy) = failure.wordsOfPeripheral
        let object = "with \(central), which began it"
        var error = BLEError(.securityFailed, operation: "pair", object: object, cause: cause, remedy: remedy)
        error.pairingFailure = failure
        return error
    }
}

extension PairingFailure {
    fileprivate var wordsOfPeripheral: (cause: String, remedy: String) {
        switch self {
        case .wrongPasskey:
            (
                "the passkey entered differs from the one shown, or none was entered",
                "Pair again from the central, and enter the six digits as they are shown, with leading zeros."
            )
        case .refused:
            (
                "this device refused",
                "Pair again from the central, and accept here; a peripheral whose LocalPeripheral.pairing is nil "
                    + "refuses every pairing."
            )
        case .invalidPasskey:
            (
                "the value entered is not a passkey",
                "Pair again from the central, and enter the six digits that it shows: 000000 to 999999."
            )
        case .unanswered:
            (
                "this device's user or program did not answer in time",
                "Pair again from the central, and answer in time."
            )
        case .timedOut:
            (
                "the central did not continue within 30 s, or a program here dropped the link",
                "Pair again from the central, and answer its questions there."
            )
        case .needsAnswers:
            (
                "the central requires a passkey or a comparison of numbers, and this program can answer neither",
                "Set LocalPeripheral.pairing to the answers."
            )
        case .wouldWeakenBond:
            (
                "the existing bond with it was made with a passkey or by comparing numbers, and it tried to replace "
                    + "that bond with an unauthenticated one",
                "If the central has lost its keys, remove the bond here with Peripheral.unpair(), then pair again."
            )
        case .wrongOutOfBandData:
            (
                "the out-of-band data is another device's or out of date, or the central lacks this device's data",
                "Make new out-of-band data on both devices, exchange it, then pair again from the central."
            )
        default:
            (
                "the central refused or gave up, or it requires a passkey or a comparison that the two devices can't "
                    + "do",
                "Pair again from the central; if this device accepts only a passkey or a comparison, the central "
                    + "must support it."
            )
        }
    }
}

extension PairingFailure {
    fileprivate var words: (cause: String, remedy: String) {
        switch self {
        case .wrongPasskey:
            (
                "the passkey entered differs from the one shown, or none was entered",
                "Pair again, and enter the six digits as they are shown, with leading zeros; a fixed passkey is "
                    + "printed on the peripheral or in its manual."
            )
        case .refused:
            (
                "this device's user or program refused",
                "Pair again, and enter the passkey, or accept if both devices show the same number."
            )
        case .invalidPasskey:
            ("the value entered is not a passkey", "Enter the six digits that the peripheral shows: 000000 to 999999.")
        case .unanswered:
            ("this device's user or program did not answer in time", "Pair again, and answer in time.")
        case .timedOut:
            (
                "the peripheral did not continue within 30 s, or a program here dropped the link",
                "Pair again, and follow the peripheral's prompts; if it shows none, switch it off and on."
            )
        case .needsAnswers:
            (
                "the peripheral requires a passkey or a comparison of numbers, and this program can answer neither",
                "Pass the answers to Link.pair(answers:)."
            )
        case .wouldWeakenBond:
            (
                "the new keys are weaker than those of the existing bond, which is kept: another device may be using "
                    + "the peripheral's address",
                "Check that it is the peripheral itself; if it no longer supports stronger keys, remove the bond with "
                    + "Peripheral.unpair(), then pair again."
            )
        case .wrongOutOfBandData:
            (
                "the out-of-band data is another device's or out of date, or the peripheral doesn't accept any",
                "Read it from the peripheral again, then pair again."
            )
        default:
            (
                "the peripheral refused",
                "Put the peripheral into its pairing mode; if it shows or requires a passkey, pass the answers to "
                    + "Link.pair(answers:)."
            )
        }
    }
}
