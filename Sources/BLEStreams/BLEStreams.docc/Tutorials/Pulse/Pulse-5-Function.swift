import BLEDevices

/// The rates of the first sensor that is found, across lost links.
func heartRates(on adapter: AdapterChoice) async throws -> BLEStream<Int> {
    let central = try await Central.open(adapter)
    let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first().peripheral
    let beats = sensor.stream { link in link.notifications(of: .heartRateMeasurement) }
    return beats.retry().map { beat in beat.beatsPerMinute }
}
