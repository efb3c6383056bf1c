import BLEStreams
import Glibc

extension BLEError {
    /// What went wrong and what to do, for a person.
    var messageText: String { remedy.isEmpty ? failureText : "\(failureText) \(remedyText)" }

    /// What to do, for a person.
    var remedyText: String { Self.inCommands(remedy, about: object) }

    /// What to do: commands, where the library's remedy names calls.
    ///
    /// - Parameter isAtTerminal: whether a person is there already, and only an option keeps them from being asked.
    static func inCommands(
        _ remedy: String,
        about object: String,
        isAtTerminal: Bool = Terminal.standard != nil
    ) -> String {
        let address = object.firstMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/).map { String($0.0) } ?? "ADDRESS"
        let text = LibraryPhrase.reworded(remedy) { command(for: $0, address) }
        guard isAtTerminal else { return text }
        // A command that asks nobody has no options for it either.
        return text.replacing(askingElsewhere, with: "run `ble pair \(address)`")
            .replacing("at a terminal", with: "without --claim and --just-works")
    }

    /// What somebody at a command line does in place of what the library's phrase names.
    private static func command(for phrase: LibraryPhrase, _ address: String) -> String {
        switch phrase {
        // The command has ended, and the program with it.
        case .pairOnceMore: "remove the remaining keys with `ble unpair \(address)`, and"
        case .raiseOrPassAnswers: "\(authenticated); or \(askingElsewhere)"
        case .passAnswersForLater, .passAnswers: askingElsewhere
        case .raise: authenticated
        case .passBetterAnswers: "Run this at a terminal, or with --passkey"
        case .passTheseAnswers: "Run `ble pair \(address)` at a terminal, or with --passkey"
        case .mayPassTheAnswers:
            "if it shows or requires a passkey, run `ble pair \(address)` at a terminal, or with --passkey"
        case .passTheAnswers: "run `ble pair \(address)` at a terminal, or with --passkey"
        case .pairWithAnswers, .pair: "`ble pair \(address)`"
        case .unpair: "`ble unpair \(address)`"
        case .enterTheDigits: phrase.text
        case .compareNumbers: "by comparing numbers"
        case .bonds: "`ble bonds`"
        case .replaceBonds: "pass --replace"
        case .exportBonds: "`ble bonds export`"
        case .importBonds: "a folder of bluetoothd with --bluetoothd --folder"
        case .passFolderOfBonds: "Pass the folder with its bonds: --folder"
        case .setPairing: "Run `ble serve` at a terminal, or with --passkey"
        case .withoutPairing: "`ble serve --no-pairing`"
        case .serveLater: ", try again later, or"
        case .serveAgain: " Then run the command again."
        case .endOtherLink: "end the `ble serve` that the device is connected to, or the other program"
        case .disconnectCentral: ", or end the `ble serve` that it is connected to"
        case .disconnectPacedCentral: ""
        // 0x2A38 is how many people write a UUID.
        case .checkHandle:
            "Check the handle: `ble info \(address)` finds those that the peripheral has now. If you meant a UUID, "
                + "write it without 0x."
        case .discover: "`ble info \(address)`"
        case .selectServices: "--service selects"
        case .connectAgain: "Run the command again"
        case .resetSession, .connectSession, .runSession: "Run the command again."
        case .exclusiveUse: "the other operation on the link"
        case .sessionReconnects: "the command connects again by itself"
        case .checkPeer: "Check that the device is"
        case .moreTime: ", or allow more time with --timeout."
        case .orMoreTime: "; or allow more time with --timeout."
        case .sessionsGetSlots:
            "The devices to which this command reconnects get each slot that becomes free: connect to fewer at once."
        case .blockNoExecutor: "end scans meanwhile"
        case .adapterIsOn: "when `ble adapter` shows that it is on"
        case .powerOn: "`ble adapter on`"
        case .powerOff: "`ble adapter off`"
        case .reset: "`ble adapter reset`"
        case .cycleOrRecover, .cycle: "`ble adapter cycle`"
        case .otherAdapter: "choose another adapter with `--adapter`"
        case .interruptForPrivacy: "--interrupt"
        case .privacyOff: "`ble adapter privacy --set off`"
        case .joinAdapters: "use several adapters with `--adapter all`"
        case .simulatedRadio: "or try `--simulated`"
        }
    }

    /// Where a command gets its answers, if it doesn't ask.
    private static let askingElsewhere = "run this at a terminal, or with --passkey or --just-works"
    private static let authenticated = "with --secure authenticated"

    /// The cause: commands, where the library's names calls.
    var causeText: String { cause.replacing("`Central.setPowered(false)`", with: "`ble adapter off`") }

    /// What went wrong, for a person.
    var failureText: String {
        var text = operation
        if !object.isEmpty { text += " \(object)" }
        text += ": \(code.words): \(causeText)"
        if let received { text += "; \(received.count) octets had been received" }
        // A cause that contains the limit has already given the time.
        if let elapsed, !cause.contains(" within ") { text += " (after \(elapsed.secondsText))" }
        return text.hasSuffix(".") ? text : text + "."
    }

    /// The same for a program; octets in hexadecimal, time in seconds.
    var json: JSON {
        .object(
            ("code", .string("\(code)")),
            ("operation", .string(operation)),
            ("object", object.isEmpty ? nil : .string(object)),
            ("cause", .string(causeText)),
            ("remedy", remedy.isEmpty ? nil : .string(remedyText)),
            ("attError", .number(attError?.rawValue)),
            ("reason", .string(reason?.description)),
            ("pairingFailure", .string(pairingFailure?.description)),
            ("errno", .number(systemError)),
            ("elapsed", elapsed.map { .decimal($0.seconds) }),
            ("received", received.map { .hex($0) })
        )
    }

    /// Standard output could not be written.
    static func output(_ number: Int32) -> BLEError {
        var error = file("write", "standard output", number)
        error.remedy =
            number == EBADF
            ? "It isn't open for writing: send it to a file, a pipe or /dev/null."
            : "Check that what it goes to can be written, and that a disk has room."
        return error
    }

    /// Standard input could not be read.
    static func input(_ number: Int32) -> BLEError {
        var error = file("read", "standard input", number)
        error.remedy = "Pass a file or a pipe, or run this at a terminal."
        return error
    }

    /// A file could not be read or written.
    static func file(_ operation: String, _ path: String, _ number: Int32) -> BLEError {
        var error = BLEError(
            .systemFailure,
            operation: operation,
            object: path,
            cause: String(cString: strerror(number)),
            remedy: [ENOSPC, EDQUOT].contains(number)
                ? "Make room there, or choose another path."
                : "Check that the path is correct, and that you may \(operation) it."
        )
        error.systemError = number
        return error
    }
}

extension AdapterTrouble {
    /// The trouble for a person, who has commands and no calls.
    var messageText: String { BLEError.inCommands("\(self)", about: "") }
}

extension BLEError.Code {
    /// The code as words: `timed out`.
    fileprivate var words: String {
        description.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
    }
}

extension Duration {
    /// The length in seconds: the number nearest to the decimal of up to nine places, which neither the quotient of two
    /// durations is, nor the sum of the seconds and the rest.
    var seconds: Double {
        let (whole, rest) = components
        return (Double(whole) * 1e9 + Double(rest) / 1e9) / 1e9
    }

    /// Seconds, to the hundredth: `2.04 s`; what is shorter, to the first digit that isn't zero: `0.003 s`.
    var secondsText: String {
        var (parts, decimals) = (seconds * 100, 2)
        while parts > 0, parts < 0.95, decimals < 18 { (parts, decimals) = (parts * 10, decimals + 1) }
        let digits = String(Int(parts.rounded()))
        let text = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return "\(text.dropLast(decimals)).\(text.suffix(decimals)) s"
    }
}
