import BLERadio
import BLEStreams
import Testing

@testable import ble

/// The errors of the library as the command tells them: to somebody who can call nothing of it.
@Suite struct ErrorTextTests {
    /// What the library advises, and what the command does.
    @Test(arguments: [
        (
            "Pair again; if it happens each time, end scans meanwhile, and don't block the thread of Central.executor.",
            "Pair again; if it happens each time, end scans meanwhile."
        ),
        (
            "Disconnect from A first, try again later as LocalPeripheral.resuming does, or advertise on another adapter.",
            "Disconnect from A first, try again later, or advertise on another adapter."
        ),
        (
            "Restart bluetoothd. Then call LocalPeripheral.run(on:) again.",
            "Restart bluetoothd. Then run the command again."
        ),
    ])
    func `a remedy names no call`(_ remedy: String, _ words: String) {
        #expect(BLEError.inCommands(remedy, about: "hci0", isAtTerminal: false) == words)
    }

    @Test func `a phrase of the library that contains another one is replaced before it`() {
        let texts = LibraryPhrase.allCases.map(\.text)
        for (index, text) in texts.enumerated() {
            for earlier in texts[..<index] { #expect(!text.contains(earlier), "\(text)") }
        }
    }

    @Test(arguments: [false, true])
    func `no phrase of the library is left`(isAtTerminal: Bool) {
        for phrase in LibraryPhrase.allCases {
            let words = BLEError.inCommands(phrase.text, about: "hci0", isAtTerminal: isAtTerminal)
            #expect(!words.contains(/[A-Z][A-Za-z]+\.[a-z]|[a-z]\(|[Pp]ass the answers/), "\(words)")
        }
    }

    @Test(arguments: [
        (
            "Make the link authenticated, with Link.secure(to: .authenticated, answers:); or pass the answers once to "
                + "Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:).",
            "Make the link authenticated, with --secure authenticated; or run this at a terminal, or with --passkey or "
                + "--just-works."
        ),
        (
            "Wait: the session reconnects while its policy has attempts left.",
            "Wait: the command connects again by itself."
        ),
        ("Call `Session.reset()` to begin again.", "Run the command again."),
    ])
    func `a remedy of several phrases, or of a session, is one sentence of commands`(
        _ remedy: String,
        _ words: String
    ) {
        #expect(BLEError.inCommands(remedy, about: "hci0", isAtTerminal: false) == words)
    }

    /// The remedies of a refused value, for each command that ends with that error.
    @Test(arguments: ["read", "write", "notify", "transfer", "update"])
    func `the options that a remedy names for a refused value are those of the command`(_ name: String) throws {
        let command = try #require(ble.commands.first { $0.name == name })
        for phrase in [LibraryPhrase.raiseOrPassAnswers, .passAnswersForLater, .passAnswers, .raise] {
            let words = BLEError.inCommands(phrase.text, about: "hci0", isAtTerminal: false)
            let options = words.matches(of: /--([a-z-]+)/).map { String($0.1) }
            #expect(!options.isEmpty && Set(options).isSubset(of: command.options.map(\.name)), "\(words)")
        }
    }

    @Test func `a step of the adapter's recovery that failed is told in commands`() {
        let error = BLEError(
            .systemFailure,
            operation: "switch on",
            object: "hci0",
            cause: "the kernel refused",
            remedy: "Switch it on with `Central.setPowered(true)`; if that fails too, reset it with `Central.reset()`."
        )
        let words = AdapterTrouble.ofOne("hci0", .failed(.powerCycle, error)).messageText
        #expect(words.contains("`ble adapter on`") && words.contains("`ble adapter reset`"), "\(words)")
        #expect(words.contains("the kernel refused") && !words.contains("Central."))
    }

    @Test func `an adapter that was switched off here is told in commands, cause and remedy`() {
        let error = BLEError.switchedOffHere("the adapter hci0", operation: "scan", object: "hci0")
        let text = error.messageText
        #expect(text.contains("or by `ble adapter off`") && !text.contains("Central."), "\(text)")
        #expect(text.hasSuffix("Try again when `ble adapter` shows that it is on."))
    }
}
