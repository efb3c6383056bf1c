// Follows a heart-rate sensor across lost links, until it stays away.
//
//   swift run HeartRate               the strongest sensor nearby; without an adapter, a simulated one
//   swift run HeartRate --simulated   a simulated sensor, which loses its link after five beats and stops after ten
//
// Ctrl-C ends the subscription and drops the link before the program ends.

import BLEDevices
import BLESimulator
import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

printLinesAtOnce()
let signals = TerminationSignals()

/// The sensor with the strongest signal, of those that are heard within two seconds of the first one.
func strongestSensor(_ central: Central) async throws -> Discovery {
    let sensors = central.scan(for: .service(.heartRate), .connectable, duplicates: true)
    var best = try await sensors.timeout(.seconds(10)).first()
    for try await sensor in sensors.prefix(for: .seconds(2)) {
        if let rssi = sensor.rssi, rssi > best.rssi ?? .min { best = sensor }
    }
    return best
}

/// Prints beats until five attempts to connect to the sensor have failed.
func printBeats(of sensor: Peripheral) async throws {
    let beats =
        sensor
        .stream(timeout: .seconds(3)) { link in link.notifications(of: .heartRateMeasurement).timeout(.seconds(5)) }
        .retry(
            // One beat resets the count of failures: the simulated sensor drops its links within a second.
            .exponential(to: .seconds(2), attempts: 5, stableAfter: .zero),
            when: { error in
                guard let error = error as? BLEError else { return false }
                print("  \(error.cause)")
                return !error.isFinal
            }
        )
    do {
        for try await beat in beats { print("\(beat.beatsPerMinute) beats per minute") }
    } catch let error as BLEError {
        print("The sensor is gone. \(error.remedy)")
    }
}

func follow(on adapter: AdapterChoice) async throws {
    try await Central.with(adapter) { central in
        let sensor = try await strongestSensor(central)
        print("Following \(sensor.name?.harmless ?? "a sensor") at \(sensor.address).")
        try await printBeats(of: sensor.peripheral)
    }
}

/// A sensor that loses its link after five beats, and stops after ten.
func liveAndDie(on air: SimulatedAir) async throws {
    let sensor = LocalPeripheral(name: "Heart rate") {
        LocalService(.heartRate) {
            LocalCharacteristic(BluetoothUUID.Characteristics.heartRateMeasurement, [.notify])
        }
    }
    try await sensor.run(on: .radio(air.adapter())) { server in
        var beats = 0
        for try await change in server.subscriptions() where change.isSubscribed {
            repeat {
                try await server.notify(
                    [0, UInt8(60 + beats)],
                    of: BluetoothUUID.Characteristics.heartRateMeasurement,
                    to: change.central
                )
                beats += 1
                try await Task.sleep(for: .milliseconds(200))
            } while beats % 5 != 0
            if beats == 10 { return }
            change.central.disconnect()
        }
    }
}

func simulate() async throws {
    print("This is a simulation. With a Bluetooth adapter and a sensor nearby: `swift run HeartRate`.")
    let air = SimulatedAir()
    try await withThrowingTaskGroup { group in
        // An interruption ends the subscription: the sensor has no subscriber left.
        group.addTask { try? await liveAndDie(on: air) }
        defer { group.cancelAll() }
        // In a nested group: the sensor runs until its central has disconnected.
        try await signals.interrupt { try await follow(on: .radio(air.adapter())) }
    }
}

if let wrong = CommandLine.arguments.dropFirst().first(where: { $0 != "--simulated" }) {
    printError("There is no option '\(wrong)'; there is --simulated.")
    exit(2)
}
do {
    if CommandLine.arguments.contains("--simulated") {
        try await simulate()
    } else {
        do {
            try await signals.interrupt { try await follow(on: .default) }
        } catch let error as BLEError where error.code == .adapterNotFound || error.code == .unsupportedSystem {
            printError("No adapter: \(error)")
            try await simulate()
        }
    }
} catch is Interrupted {
    exit(Interrupted.exitStatus)
} catch {
    printError("HeartRate failed: \(error)")
    exit(1)
}
