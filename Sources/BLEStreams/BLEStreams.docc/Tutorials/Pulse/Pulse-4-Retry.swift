import BLEDevices

let central = try await Central.open()
let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first().peripheral
let beats = sensor.stream { link in link.notifications(of: .heartRateMeasurement) }
for try await beat in beats.retry() {
    print("\(beat.beatsPerMinute) beats per minute")
}
