import BLEDevices
import ConsoleOutput

extension BluetoothUUID {
    static let configuration: BluetoothUUID = "7A1C0050-5F2B-4C8E-9D3A-6B70E14F2C55"
    static let interval: BluetoothUUID = "7A1C0051-5F2B-4C8E-9D3A-6B70E14F2C55"
    static let label: BluetoothUUID = "7A1C0052-5F2B-4C8E-9D3A-6B70E14F2C55"
}

/// `interval=1000` or `label=Kitchen`, in the device's encoding.
private func setting(_ word: String) throws -> ConfigurationFlow.Setting {
    let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
    switch (parts.first, parts.count) {
    case ("label", 2):
        return .init(BluetoothUUID.label, parts[1].utf8)
    case ("interval", 2):
        guard let milliseconds = UInt16(parts[1]) else { throw Usage("The interval is a number of milliseconds.") }
        return .init(BluetoothUUID.interval, [UInt8(milliseconds & 0xFF), UInt8(milliseconds >> 8)])
    default:
        throw Usage("A setting is interval=MILLISECONDS or label=TEXT, not \(word).")
    }
}

/// Changes settings of a device: all the given ones, or none.
func configure(on adapter: AdapterChoice, _ words: [String]) async throws {
    guard !words.isEmpty else { throw Usage("What is to be set? For example: interval=1000 label=Kitchen") }
    let settings = try words.map(setting)
    try await Central.with(adapter) { central in
        let device = try await central.scan(for: .service(.configuration)).timeout(.seconds(10)).first().peripheral
        try await device.withQueue { queue in
            let queue = queue.connecting().retrying(.exponential(attempts: 3)) { ($0 as? BLEError)?.isFinal == false }
            do {
                let former = try await queue.run(ConfigurationFlow(settings))
                print("\(former.count) of \(settings.count) settings changed.")
            } catch let error as BLEError where error.code == .attributeError {
                print("Nothing was changed: \(error.cause).")
            }
            let label = try await queue.run(.read(BluetoothUUID.label))
            print("The device is called \(label.text?.harmless ?? label.hex).")
        }
    }
}
