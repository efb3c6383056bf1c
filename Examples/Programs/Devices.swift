import BLEDevices
import BLESimulator
import Foundation

/// Three thermometers, one of which first sends a value that is no temperature. The simulation is over when one of them
/// has sent ten values.
func thermometers(_ stage: Stage) async throws {
    try await withThrowingTaskGroup { group in
        for number in 1...3 {
            group.addTask { try await thermometer(number, stage) }
        }
        try await group.waitForAll()
    }
}

private func thermometer(_ number: Int, _ stage: Stage) async throws {
    let thermometer = LocalPeripheral(name: "Thermometer \(number)") {
        LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read, .notify], value: 20) }
    }
    try await thermometer.run(on: stage.radio()) { server in
        var sent = 0
        for step in 0... {
            try await Task.sleep(for: .milliseconds(100))
            let octets = BluetoothUUID.Characteristics.temperature
            if number == 3, sent == 0, try await server.notify([0x80], of: octets).isEmpty { continue }
            let celsius = Double(18 + number) + Double(step % 20) / 10
            sent += try await server.notify(celsius, of: .temperature).count { $0.isSent }
            if sent == 10 { stage.hasShownAll() }
        }
    }
}

/// A modem that answers each line with OK.
func modem(_ stage: Stage) async throws {
    let modem = LocalPeripheral(name: "Modem") { LocalService.serialLine() }
    try await modem.run(on: stage.radio()) { server in
        let commands = server.messages(to: SerialService.nordicUART.outgoing, endingWith: .delimiter("\r\n"))
        for try await command in commands {
            let line = server.bytes(of: .nordicUART, with: command.central)
            do {
                try await line.write(command.octets + Array(": OK\r\n".utf8))
            } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
                // It has left, or listens no more: the lines of the others go on.
            } catch let error as BLEError where error.code == .overflow {
                // It has agreed on a smaller MTU meanwhile, which may have cut what it gets.
                command.central.disconnect()
            }
            guard command.octets == Array("AT+VERSION".utf8) else { continue }
            try await Task.sleep(for: .milliseconds(500))
            stage.hasShownAll()
        }
    }
}

/// Two beacons. One goes out of range after a second, and returns after it has been missed.
func beacons(_ stage: Stage) async throws {
    let uuid: BluetoothUUID = "7A1C0080-5F2B-4C8E-9D3A-6B70E14F2C55"
    let radios = (1...2).map { _ in stage.air.adapter() }
    try await withThrowingTaskGroup { group in
        for (number, radio) in radios.enumerated() {
            let beacon = LocalPeripheral.beacon(IBeacon(uuid: uuid, major: 1, minor: UInt16(number + 1)).fields)
            group.addTask { try await beacon.run(on: radio) }
        }
        try await Task.sleep(for: .seconds(1))
        stage.air.faults.add(.outOfRange(lasting: .seconds(5)), on: radios[1])
        try await Task.sleep(for: .seconds(7))
        stage.hasShownAll()
        try await group.waitForAll()
    }
}

/// A device with two settings. It refuses intervals below 100 ms.
func configurable(_ stage: Stage) async throws {
    let device = LocalPeripheral(name: "Configurable", advertising: [.configuration]) {
        LocalService(.configuration) {
            LocalCharacteristic(.interval, [.read, .write], value: .stored([0xFA, 0])) { value, _ in
                guard value.count == 2, value[0] > 99 || value[1] > 0 else { throw ATTError.outOfRange }
            }
            LocalCharacteristic(.label, [.read, .write], value: .text("Cellar"))
        }
    }
    try await device.run(on: stage.radio()) { _ in try await Task.sleep(for: .seconds(3600)) }
}

/// Firmware to send, in a file.
func firmwareFile() throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: "app_update.bin")
    try Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: file, options: .atomic)
    return file.path
}

/// A device whose firmware can be updated. Its link is lost once during the update.
func updatable(_ stage: Stage) async throws {
    let receiver = PlainFirmwareReceiver(model: 7, capacity: 1 << 20)
    let device = LocalPeripheral(name: "Updatable") { receiver.service }
    let radio = stage.air.adapter()
    stage.air.faults.add(.dropLink(after: 30, .writeCommands).times(1), on: radio)
    try await device.run(on: .radio(radio)) { server in try await receiver.run(on: server) }
}

/// A lock that displays the passkey 123456 when a central pairs with it.
func lock(_ stage: Stage) async throws {
    let lock = LocalPeripheral(name: "Lock", advertising: [.lock]) {
        LocalService(.lock) {
            LocalCharacteristic(.lockState, [.read], value: .text("closed"), access: .authenticated)
        }
    }
    try await lock.run(on: stage.radio(AdapterSettings(pairing: .showsPasskey(123_456)))) { _ in
        print("The lock shows 123456.")
        try await Task.sleep(for: .seconds(3600))
    }
}
