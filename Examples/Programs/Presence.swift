import BLEDevices

/// Prints which iBeacons come and go.
func presence(on adapter: AdapterChoice, _ words: [String]) async throws {
    try await Central.with(adapter) { central in
        let beacons = central.scan(duplicates: true).compactMap { discovery in
            IBeacon(discovery.advertisement).map { (beacon: $0, rssi: discovery.rssi) }
        }
        var present = 0
        for try await event in beacons.presence(by: { $0.beacon }, timeout: .seconds(3)) {
            let name = "\(event.key.major).\(event.key.minor)"
            switch event {
            case .enter(_, let sighting):
                present += 1
                print("\(name) is here, at \(sighting.rssi ?? 0) dBm; \(present) in all.")
            case .update:
                break
            case .leave:
                present -= 1
                print("\(name) has gone; \(present) in all.")
            }
        }
    }
}
