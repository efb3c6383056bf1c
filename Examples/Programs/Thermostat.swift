import BLEDevices

extension BluetoothUUID {
    static let heater: BluetoothUUID = "7A1C0070-5F2B-4C8E-9D3A-6B70E14F2C55"
}

/// Keeps a room at a temperature: follows its thermometer, and switches its heater.
///
/// It compares the mean of three values, and switches the heater half a degree beyond the target, so that it doesn't
/// switch back and forth. A session reconnects after a lost link; meanwhile the heater stays as it is. A write whose
/// link was lost may have been carried out or not: the queue writes it again, which does no harm here.
func thermostat(on adapter: AdapterChoice, _ words: [String]) async throws {
    guard let target = words.isEmpty ? 21 : Double(words[0]), target.isFinite else {
        throw Usage("The temperature is a number of degrees, like 20.5.")
    }
    let plan = Session.Plan(finding: .service(.environmentalSensing)).subscribing(to: .temperature)
    try await Central.with(adapter) { central in
        try await central.withSession(plan) { session in
            let queue = session.queue.retrying()
            let demands = session.notifications(of: .temperature)
                .movingAverage(ofLast: 3)
                .reductions(into: (heats: false, celsius: target)) { demand, celsius in
                    demand.celsius = celsius
                    if celsius < target - 0.5 { demand.heats = true }
                    if celsius > target + 0.5 { demand.heats = false }
                }
                .distinct(by: { $0.heats })
            for try await demand in demands {
                try await queue.run(.write([demand.heats ? 1 : 0], to: BluetoothUUID.heater))
                let tenths = (demand.celsius * 10).rounded() / 10
                print("\(tenths) °C: the heater is \(demand.heats ? "on" : "off").")
            }
        }
    }
}
