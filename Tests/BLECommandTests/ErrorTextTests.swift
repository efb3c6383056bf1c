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

    @Test func `an adapter that was switched off here is told in commands, cause and remedy`() {
        let error = BLEError.switchedOffHere("the adapter hci0", operation: "scan", object: "hci0")
        let text = error.messageText
        #expect(text.contains("or by `ble adapter off`") && !text.contains("Central."), "\(text)")
        #expect(text.hasSuffix("Try again when `ble adapter` shows that it is on."))
    }
}
