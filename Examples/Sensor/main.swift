// A thermostat: the temperature is computed when it is read, and a new target is checked before it is accepted.
//
//   swift run Sensor               runs the thermostat on this machine's adapter
//   swift run Sensor --simulated   runs it on a simulated air, with a central that reads, writes and follows it

import BLESimulator
import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

extension CharacteristicKey where Self == TypedCharacteristic<Double> {
    /// A temperature in degrees Celsius, encoded in hundredths of a degree.
    static func celsius(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            Double(try reader.int16()) / 100
        } encode: { value, writer throws(MalformedValue) in
            writer.int16(Int16(clamping: Int((value * 100).rounded())))
        }
    }
    static var room: Self { celsius(BluetoothUUID.Characteristics.temperature) }
    static var target: Self { celsius("7A1C0041-5F2B-4C8E-9D3A-6B70E14F2C55") }
}

let heating = Heating()
let thermostat = LocalPeripheral(name: "Thermostat") {
    LocalService(.environmentalSensing) {
        LocalCharacteristic(.room, [.read, .notify], read: { _ in await heating.temperature })
        LocalCharacteristic(.target, [.read, .write], value: 20) { target, central in
            guard (5...30).contains(target) else { throw ATTError.outOfRange }
            await heating.heat(to: target)
        }
    }
}

/// Serves the thermostat until the task is cancelled, and notifies subscribers of the temperature.
func serve(on adapter: AdapterChoice) async throws {
    try await thermostat.run(on: adapter) { server in
        while true {
            try await server.notify(await heating.step(), of: .room)
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

printLinesAtOnce()
if let wrong = CommandLine.arguments.dropFirst().first(where: { $0 != "--simulated" }) {
    printError("There is no option '\(wrong)'; there is --simulated.")
    exit(2)
}
do {
    try await TerminationSignals().interrupt {
        guard CommandLine.arguments.contains("--simulated") else { return try await serve(on: .default) }
        let air = SimulatedAir()
        try await withThrowingTaskGroup { group in
            group.addTask { try await serve(on: .radio(air.adapter())) }
            defer { group.cancelAll() }
            try await visit(on: .radio(air.adapter()))
        }
    }
} catch is Interrupted {
    exit(Interrupted.exitStatus)
} catch {
    printError("Sensor failed: \(error)")
    exit(1)
}
