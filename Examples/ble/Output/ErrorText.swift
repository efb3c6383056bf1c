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
        let commands = [
            (
                "\(Self.pairAgain) remove the remaining keys with Peripheral.unpair(), and",
                "remove the remaining keys with `ble unpair \(address)`, and"
            ),
            (
                "pass the answers once to \(Self.allowing), and the library pairs when needed",
                "run this at a terminal, or with --passkey or --just-works"
            ),
            (
                "pass the answers once to \(Self.allowing)",
                "run this at a terminal, or with --passkey or --just-works"
            ),
            ("with Link.secure(to: .authenticated, answers:)", "with --secure authenticated"),
            ("Pass answers that can enter a passkey or compare numbers", "Run this at a terminal, or with --passkey"),
            ("Set LocalPeripheral.pairing to the answers", "Run `ble serve` at a terminal, or with --passkey"),
            ("a peripheral whose LocalPeripheral.pairing is nil", "`ble serve --no-pairing`"),
            (
                // 0x2A38 is how many people write a UUID.
                "Check the handle: Link.discover() finds those that the peripheral has now.",
                "Check the handle: `ble info \(address)` finds those that the peripheral has now. "
                    + "If you meant a UUID, write it without 0x."
            ),
            ("end scans meanwhile, and don't block the thread of Central.executor", "end scans meanwhile"),
            (", try again later as LocalPeripheral.resuming does, or", ", try again later, or"),
            (" Then call LocalPeripheral.run(on:) again.", " Then run the command again."),
            (
                "when `Central.adapterStates` reports that it is on; a recovery plan does so at once",
                "when `ble adapter` shows that it is on"
            ),
            ("Link.discover()", "`ble info \(address)`"),
            ("Link.pair()", "`ble pair \(address)`"),
            ("Pass the answers to Link.pair(answers:)", "Run `ble pair \(address)` at a terminal, or with --passkey"),
            ("pass the answers to Link.pair(answers:)", "run `ble pair \(address)` at a terminal, or with --passkey"),
            ("Peripheral.unpair()", "`ble unpair \(address)`"),
            ("`Central.setPowered(true)`", "`ble adapter on`"),
            ("`Central.reset()`", "`ble adapter reset`"),
            ("`Central.powerCycle()`, or let a `RecoveryPlan` do it", "`ble adapter cycle`"),
            ("`Central.powerCycle()`", "`ble adapter cycle`"),
            (" with `ConnectedCentral.disconnect()`", ", or end the `ble serve` that it is connected to"),
            ("open the `Central` on another adapter", "choose another adapter with `--adapter`"),
            ("Central.setPrivacy(_:interrupting: true)", "--interrupt"),
            ("Central.setPrivacy(false)", "`ble adapter privacy --set off`"),
            ("join a second adapter: AdapterChoice.joined(_:)", "use several adapters with `--adapter all`"),
            (", or drop its link with ConnectedCentral.disconnect()", ""),
            ("by comparing numbers: PairingAnswers", "by comparing numbers"),
            ("Central.bonds", "`ble bonds`"),
            ("or use the simulated radio", "or try `--simulated`"),
            ("pass replacing: true to Central.adopt(_:replacing:)", "pass --replace"),
            ("Bond.export(_:to:)", "`ble bonds export`"),
            (
                "read a folder of bluetoothd with Bond.importedFromBluetoothd(in:)",
                "a folder of bluetoothd with --bluetoothd --folder"
            ),
            ("Pass the folder with its bonds", "Pass the folder with its bonds: --folder"),
            (
                "Connect again; BLEStream.retry(_:when:) and sessions do so automatically",
                "Run the command again; `ble notify --reconnect` connects again by itself"
            ),
            ("Check that the peer is", "Check that the device is"),
            ("or allow more time.", "or allow more time with --timeout."),
        ]
        let text = commands.reduce(remedy) { $0.replacing($1.0, with: $1.1) }
        guard isAtTerminal else { return text }
        // A command that asks nobody has no options for it either.
        let askingElsewhere = "run this at a terminal, or with --passkey or --just-works"
        return text.replacing(askingElsewhere, with: "run `ble pair \(address)`")
            .replacing("at a terminal", with: "without --claim and --just-works")
    }

    /// What a person can't do after a command, which has ended.
    private static let pairAgain = "call Link.pair() again while this program runs; after that,"

    /// Where the library accepts pairing answers.
    private static let allowing = "Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:)"

    /// The cause: commands, where the library's names calls.
    private var causeText: String { cause.replacing("`Central.setPowered(false)`", with: "`ble adapter off`") }

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

extension BLEError.Code {
    /// The code as words: `timed out`.
    fileprivate var words: String {
        description.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double { self / .seconds(1) }

    /// Seconds, to the hundredth: `2.04 s`; what is shorter, to the first digit that isn't zero: `0.003 s`.
    var secondsText: String {
        var (parts, decimals) = (seconds * 100, 2)
        while parts > 0, parts < 0.95, decimals < 18 { (parts, decimals) = (parts * 10, decimals + 1) }
        let digits = String(Int(parts.rounded()))
        let text = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return "\(text.dropLast(decimals)).\(text.suffix(decimals)) s"
    }
}
