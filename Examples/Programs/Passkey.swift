import BLEDevices
import ConsoleOutput

extension BluetoothUUID {
    static let lock: BluetoothUUID = "7A1C0060-5F2B-4C8E-9D3A-6B70E14F2C55"
    static let lockState: BluetoothUUID = "7A1C0061-5F2B-4C8E-9D3A-6B70E14F2C55"
}

/// Reads a value that requires pairing with the passkey that the device displays.
///
/// When the device refuses the value, the library pairs and reads again. It keeps the bond: the next link is encrypted
/// from the start, without a question.
func passkey(on adapter: AdapterChoice, _ words: [String]) async throws {
    if let known = words.first, known.wholeMatch(of: #/[0-9]{6}/#) == nil {
        throw Usage("A passkey has six digits.")
    }
    let answers = PairingAnswers(passkey: {
        print("The passkey that the device shows:")
        if let known = words.first { return UInt32(known) }
        return try? await UInt32(typedLines.first())
    })
    try await Central.with(adapter) { central in
        let lock = try await central.scan(for: .service(.lock)).timeout(.seconds(10)).first().peripheral
        for visit in ["first", "second"] {
            try await lock.withLink(pairing: answers) { link in
                let state = try await link.read(BluetoothUUID.lockState)
                let level = link.security.level?.description ?? "not encrypted"
                print("The \(visit) link, \(level): the lock is \(state.text?.harmless ?? state.hex).")
            }
        }
    }
}
