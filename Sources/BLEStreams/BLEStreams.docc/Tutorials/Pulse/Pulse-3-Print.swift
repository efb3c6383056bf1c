import BLEDevices

let central = try await Central.open()
let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first().peripheral
try await sensor.withLink { link in
    for try await beat in link.notifications(of: .heartRateMeasurement) {
        print("\(beat.beatsPerMinute) beats per minute")
    }
}
