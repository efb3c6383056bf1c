import BLEStreams

/// An error in the words of whoever runs the gateway.
func gatewayWords(for error: any Error) -> String { (error as? BLEError).map { "\($0.ofGateway)" } ?? "\(error)" }

extension BLEError {
    /// The error in the words of somebody who configures the gateway, and runs `ble`, but can call nothing.
    var ofGateway: BLEError { inGatewayWords(of: .own) }

    /// The same, with the commands for a store of bonds.
    func inGatewayWords(of store: GatewayStore) -> BLEError {
        var error = self
        error.cause = Self.reworded(cause, about: object, store)
        error.remedy = Self.reworded(remedy, about: object, store)
        return error
    }

    /// A cause or a remedy of the library.
    static func reworded(_ text: String, about object: String, _ store: GatewayStore = .own) -> String {
        let address = object.firstMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/).map { String($0.0) } ?? "ADDRESS"
        return LibraryPhrase.reworded(text) { words(for: $0, address, store) }
    }

    private static func words(for phrase: LibraryPhrase, _ address: String, _ store: GatewayStore) -> String {
        let pair = "`\(store.command("pair \(address)"))` while the gateway is stopped"
        let unpair = "`\(store.command("unpair \(address)"))` while the gateway is stopped"
        return switch phrase {
        case .pairOnceMore: "remove the remaining keys with \(unpair), and"
        case .unpair: unpair
        case .raiseOrPassAnswers, .raise: "with `pairing.passkeyFile` of the peripheral in the configuration"
        case .passAnswersForLater, .passAnswers:
            "configure `pairing` of the peripheral, and the gateway pairs when needed"
        case .passBetterAnswers:
            "Write the peripheral's passkey into the file of `pairing.passkeyFile`, or run \(pair)"
        case .passTheseAnswers:
            "Configure `pairing.passkeyFile` of the peripheral if its passkey is a fixed one; otherwise run \(pair)"
        case .mayPassTheAnswers:
            "if its passkey is a fixed one, configure `pairing.passkeyFile`; if it shows a passkey or a number, run "
                + pair
        case .passTheAnswers, .pair, .pairWithAnswers: pair
        case .enterTheDigits:
            "Correct the file of `pairing.passkeyFile`, then reload the gateway (SIGHUP), or restart it if systemd "
                + "passes it the file; a fixed passkey"
        case .compareNumbers: "by comparing numbers, with \(pair)"
        case .bonds: "`\(store.command("bonds"))`"
        case .exportBonds: "`\(store.command("bonds export"))`"
        case .checkHandle: "Check the UUID: `ble info \(address)` lists those that the peripheral has now."
        case .discover: "`ble info \(address)`"
        case .connectAgain: "Wait: the gateway connects again by itself"
        case .resetSession: "Wait: the gateway begins again by itself."
        case .connectSession: "Send the command `connect`."
        case .runSession: "Start the gateway again."
        case .exclusiveUse: "the command that uses the peripheral"
        case .sessionReconnects: "the gateway connects again by itself"
        case .checkPeer: "Check that the peripheral is"
        case .endOtherLink: "end the other program"
        case .sessionsGetSlots:
            "Peripherals that wait for a slot get each one that becomes free: configure fewer, or name a second adapter "
                + "in `adapters` of the configuration."
        // The gateway's own limits can't be changed.
        case .moreTime, .orMoreTime: "."
        case .blockNoExecutor: "end other programs that scan meanwhile"
        case .adapterIsOn: "when `ble adapter` shows that it is on"
        case .powerOn: "`ble adapter on`"
        case .powerOff: "`ble adapter off`"
        case .reset: "`ble adapter reset`"
        case .cycleOrRecover, .cycle: "`ble adapter cycle`"
        case .otherAdapter: "name another adapter in `adapters` of the configuration"
        case .privacyOff: "`ble adapter privacy --set off`"
        case .interruptForPrivacy: "the option `--interrupt` of `ble adapter privacy --set`"
        case .joinAdapters: "name a second adapter in `adapters` of the configuration"
        case .simulatedRadio: "or try `ble-gateway --simulated`"
        // The gateway is no peripheral, and imports no bonds.
        case .setPairing, .withoutPairing, .serveLater, .serveAgain, .disconnectCentral, .disconnectPacedCentral,
            .selectServices,
            .replaceBonds, .importBonds, .passFolderOfBonds:
            phrase.text
        }
    }
}

extension BLEError {
    /// Whether the link was not secure enough, and could not be made so: until a person does something, most likely.
    var isOfSecurity: Bool {
        if code == .securityFailed || pairingFailure != nil { return true }
        switch attError {
        case .insufficientAuthentication?, .insufficientEncryption?, .encryptionKeySizeTooShort?,
            .insufficientAuthorization?:
            return true
        default: return false
        }
    }

    /// Whether it may be over by itself, as when a peripheral comes back into range.
    var isPassing: Bool {
        switch code {
        case .timedOut, .connectionFailed, .disconnected, .busy, .ended, .servicesChanged, .adapterNotFound,
            .adapterPoweredOff, .adapterBlocked, .adapterNotReady:
            true
        default: false
        }
    }
}

extension SessionState {
    /// The state in words; a failure in those of whoever runs the gateway.
    var words: String {
        if case .failed(let error) = self { return "failed: \(error.ofGateway)" }
        return "\(self)"
    }

    /// The error with which the session has failed.
    var failure: BLEError? { if case .failed(let error) = self { error } else { nil } }
}
