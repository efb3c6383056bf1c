/// The phrases in which the library's causes and remedies name its own calls. A program whose reader can call nothing
/// says each in words of its own.
///
/// They are replaced in this order: a phrase that contains another one comes before it.
enum LibraryPhrase: CaseIterable {
    // Pairing and bonds.
    case pairOnceMore, raiseOrPassAnswers, passAnswersForLater, passAnswers, raise, passBetterAnswers
    case pairWithAnswers, passTheseAnswers, mayPassTheAnswers, passTheAnswers, pair, unpair
    case enterTheDigits, compareNumbers, bonds, replaceBonds, exportBonds, importBonds, passFolderOfBonds
    // As a peripheral.
    case setPairing, withoutPairing, serveLater, serveAgain, endOtherLink, disconnectCentral, disconnectPacedCentral
    case selectServices
    // A link and a session.
    case checkHandle, discover, connectAgain, resetSession, connectSession, runSession
    case sessionReconnects, exclusiveUse, checkPeer, moreTime, orMoreTime, sessionsGetSlots
    // The adapter.
    case blockNoExecutor, adapterIsOn, powerOn, powerOff, reset, cycleOrRecover, cycle, otherAdapter
    case interruptForPrivacy, privacyOff, joinAdapters, simulatedRadio

    /// A text in which the phrases are replaced by other words.
    static func reworded(_ text: String, _ words: (LibraryPhrase) -> String) -> String {
        allCases.reduce(text) { $0.replacing($1.text, with: words($1)) }
    }

    /// Where the library accepts pairing answers.
    private static let allowing = "Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:)"

    /// The phrase, as the library says it.
    var text: String {
        switch self {
        case .pairOnceMore:
            "call Link.pair() again while this program runs; after that, remove the remaining keys with "
                + "Peripheral.unpair(), and"
        case .raiseOrPassAnswers:
            "with Link.secure(to: .authenticated, answers:); or pass the answers once to \(Self.allowing)"
        case .passAnswersForLater:
            "pass the answers once to \(Self.allowing), and the library pairs when needed"
        case .passAnswers: "pass the answers once to \(Self.allowing)"
        case .raise: "with Link.secure(to: .authenticated, answers:)"
        case .passBetterAnswers: "Pass answers that can enter a passkey or compare numbers"
        case .pairWithAnswers: "Link.pair(answers:timeout:)"
        case .passTheseAnswers: "Pass the answers to Link.pair(answers:)"
        case .mayPassTheAnswers: "if it shows or requires a passkey, pass the answers to Link.pair(answers:)"
        case .passTheAnswers: "pass the answers to Link.pair(answers:)"
        case .pair: "Link.pair()"
        case .unpair: "Peripheral.unpair()"
        case .enterTheDigits:
            "Pair again, and enter the six digits as they are shown, with leading zeros; a fixed passkey"
        case .compareNumbers: "by comparing numbers: PairingAnswers"
        case .bonds: "Central.bonds"
        case .replaceBonds: "pass replacing: true to Central.adopt(_:replacing:)"
        case .exportBonds: "Bond.export(_:to:)"
        case .importBonds: "read a folder of bluetoothd with Bond.importedFromBluetoothd(in:)"
        case .passFolderOfBonds: "Pass the folder with its bonds"
        case .setPairing: "Set LocalPeripheral.pairing to the answers"
        case .withoutPairing: "a peripheral whose LocalPeripheral.pairing is nil"
        case .serveLater: ", try again later as LocalPeripheral.resuming does, or"
        case .serveAgain: " Then call LocalPeripheral.run(on:) again."
        case .endOtherLink: "disconnect the central with `ConnectedCentral.disconnect()`, or end the other program"
        case .disconnectCentral: " with `ConnectedCentral.disconnect()`"
        case .disconnectPacedCentral: ", or drop its link with ConnectedCentral.disconnect()"
        case .selectServices: "`LocalPeripheral.advertisedServices` selects"
        case .checkHandle: "Check the handle: Link.discover() finds those that the peripheral has now."
        case .discover: "Link.discover()"
        case .connectAgain: "Connect again; BLEStream.retry(_:when:) and sessions do so automatically"
        case .resetSession: "Call `Session.reset()` to begin again."
        case .connectSession: "Call `Session.connect()` to continue."
        case .runSession: "Call `Session.run()` in another task."
        case .sessionReconnects: "the session reconnects while its policy has attempts left"
        case .exclusiveUse: "the command, or the closure of Link.exclusively(_:),"
        case .checkPeer: "Check that the peer is"
        case .moreTime: ", or allow more time."
        case .orMoreTime: "; or allow more time."
        case .sessionsGetSlots:
            "Sessions that wait for a slot get each one that becomes free: disconnect those first with "
                + "`Session.disconnect()`, or use a session here, too, which waits in line."
        case .blockNoExecutor: "end scans meanwhile, and don't block the thread of Central.executor"
        case .adapterIsOn: "when `Central.adapterStates` reports that it is on; a recovery plan does so at once"
        case .powerOn: "`Central.setPowered(true)`"
        case .powerOff: "`Central.setPowered(false)`"
        case .reset: "`Central.reset()`"
        case .cycleOrRecover: "`Central.powerCycle()`, or let a `RecoveryPlan` do it"
        case .cycle: "`Central.powerCycle()`"
        case .otherAdapter: "open the `Central` on another adapter"
        case .interruptForPrivacy: "Central.setPrivacy(_:interrupting: true)"
        case .privacyOff: "Central.setPrivacy(false)"
        case .joinAdapters: "join a second adapter: AdapterChoice.joined(_:)"
        case .simulatedRadio: "or use the simulated radio"
        }
    }
}
