import BLEDevices
import ConsoleOutput

/// Logs the temperatures of all thermometers nearby as CSV, each with the time at which it was received.
///
/// It waits for a thermometer that goes away, and adds one that comes later. A value that is no temperature goes to
/// standard error. It ends where nothing more can be written, as on a full disk.
func logger(on adapter: AdapterChoice, _ words: [String]) async throws {
    try await Central.with(adapter) { central in
        try await central.withFleet { fleet in
            try printResult("time,address,celsius")
            try await withThrowingTaskGroup { group in
                group.addTask {
                    for try await thermometer in central.scan(for: .service(.environmentalSensing), .connectable) {
                        fleet.add(Session.Plan(thermometer.peripheral).subscribing(to: .temperature))
                    }
                }
                group.addTask {
                    for try await item in fleet.values {
                        let address = item.peripheral?.address.description ?? ""
                        guard let celsius = try? TypedCharacteristic.temperature.value(of: item.value) else {
                            printError("\(address): \(item.value.hex) is no temperature.")
                            continue
                        }
                        try printResult("\(item.value.time.isoText),\(address),\(celsius)")
                    }
                }
                // What fails in one ends both: `waitForAll` would wait for the other.
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
