// Follows a heart-rate sensor for as long as it lives: through lost links, until it stays away.
//
//   swift run HeartRate               the strongest sensor nearby; where no adapter is, a simulated one
//   swift run HeartRate --simulated   a simulated sensor, whose battery is nearly empty

import BLESimulator
import BLEStreams

/// Prints beats until the sensor can't be reached in five attempts.
func follow(on adapter: AdapterChoice) async throws {
    let central = try await Central.open(adapter)
    let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first()
    print("Following \(sensor.name ?? "a sensor") at \(sensor.address).")

    let beats = sensor.peripheral
        .stream(timeout: .seconds(5)) { link in link.notifications(of: .heartRateMeasurement).timeout(.seconds(5)) }
        .retry(
            .exponential(attempts: 3),
            when: { error in
                print("  interrupted: \(error)")
                return (error as? BLEError)?.isFinal != true
            }
        )
    do {
        for try await beat in beats { print("\(beat.beatsPerMinute) beats per minute") }
    } catch let error as BLEError {
        print("The sensor is gone. \(error)")
    }
}

/// A sensor that loses its link after five beats, and its life after ten.
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
        group.addTask { try await liveAndDie(on: air) }
        try await follow(on: .radio(air.adapter()))
        group.cancelAll()
    }
}

do {
    if CommandLine.arguments.contains("--simulated") {
        try await simulate()
    } else {
        try await follow(on: .default)
    }
} catch let error as BLEError where error.code == .adapterNotFound || error.code == .unsupportedSystem {
    print("No adapter: \(error)")
    try await simulate()
}
