package import BLEProtocol

extension BLEError {
    /// A pairing has failed, and why is known.
    package static func pairingFailed(with peer: BluetoothAddress, _ failure: PairingFailure) -> BLEError {
        let (cause, remedy) = failure.words
        var error = BLEError(.securityFailed, operation: "pair", object: "with \(peer)", cause: cause, remedy: remedy)
        error.pairingFailure = failure
        return error
    }
}

extension BLEError {
    /// A pairing that a central has begun has failed, and why is known.
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
                "the passkey that was entered is not the one that is shown, or none was entered",
                "Pair again from the central, and enter the six digits as they are shown, with leading zeros."
            )
        case .refused:
            (
                "this device refused",
                "Pair again from the central, and agree here; a peripheral whose LocalPeripheral.pairing is nil refuses "
                    + "everybody."
            )
        case .invalidPasskey:
            (
                "what was entered is no passkey",
                "Pair again from the central, and enter the six digits that it shows: 0 to 999,999."
            )
        case .unanswered:
            (
                "whoever was asked here did not answer in time",
                "Pair again from the central, and answer within the time that there is."
            )
        case .timedOut:
            (
                "the central did not go on within 30 s, or a program here dropped the link",
                "Pair again from the central, and answer there what it asks."
            )
        case .needsAnswers:
            (
                "the central wants a passkey, or numbers compared, and nobody here could answer that",
                "Say who answers: LocalPeripheral.pairing."
            )
        case .wouldWeakenBond:
            (
                "there is a bond with it that was made with a passkey or by comparing numbers, and it wanted to replace "
                    + "that by one without",
                "If the central has lost its part of the bond, remove it here with Peripheral.unpair(), then pair again."
            )
        case .wrongOutOfBandData:
            (
                "the out-of-band data isn't the central's, or not any more, or the central has not got this device's",
                "Have both devices tell theirs anew, then pair again from the central."
            )
        default:
            (
                "the central refused, or gave up, or insists on a passkey or a comparison that the two can't have",
                "Pair again from the central; where this device only accepts a passkey or a comparison, the central must be "
                    + "able to do that."
            )
        }
    }
}

extension PairingFailure {
    fileprivate var words: (cause: String, remedy: String) {
        switch self {
        case .wrongPasskey:
            (
                "the passkey that was entered is not the one that is shown, or none was entered",
                "Pair again, and enter the six digits as they are shown, with leading zeros; a passkey that never changes "
                    + "is printed on the peripheral or in its manual."
            )
        case .refused:
            ("whoever was asked here refused", "Pair again, and agree where both devices show the same number.")
        case .invalidPasskey:
            ("what was entered is no passkey", "Enter the six digits that the peripheral shows: 0 to 999,999.")
        case .unanswered:
            ("whoever was asked here did not answer in time", "Pair again, and answer within the time that there is.")
        case .timedOut:
            (
                "the peripheral did not go on within 30 s, or a program here dropped the link",
                "Pair again, and do on the peripheral what it asks; switch it off and on where it asks nothing."
            )
        case .needsAnswers:
            (
                "the peripheral wants a passkey, or numbers compared, and nobody here could answer that",
                "Say who answers: Link.pair(answers:)."
            )
        case .wouldWeakenBond:
            (
                "the new keys are weaker than those of the bond that there was, which is kept: somebody else may have claimed "
                    + "the peripheral's address",
                "Check that it is the peripheral itself; if it can do no better any more, remove the bond with "
                    + "Peripheral.unpair(), then pair again."
            )
        case .wrongOutOfBandData:
            (
                "the out-of-band data isn't the peripheral's, or not any more, or the peripheral takes none",
                "Read it from the peripheral anew, then pair again."
            )
        default:
            (
                "the peripheral refused",
                "Put the peripheral into its pairing mode; where it shows, or wants, a passkey, say who answers: "
                    + "Link.pair(answers:)."
            )
        }
    }
}
