import BLEStreams

/// A central that uses a thermostat nearby.
func visit(on adapter: AdapterChoice) async throws {
    try await Central.with(adapter) { central in
        let found = try await central.scan(for: .service(.environmentalSensing)).timeout(.seconds(10)).first()
        try await found.peripheral.withLink { link in
            print("It has \(try await link.read(.room)) °C, and aims at \(try await link.read(.target)).")
            do {
                try await link.write(80, to: .target)
            } catch let error as BLEError where error.attError == .outOfRange {
                print("80 °C are refused: \(ATTError.outOfRange).")
            }
            try await link.write(22, to: .target)
            for try await celsius in link.notifications(of: .room) {
                print("\(celsius) °C")
                if celsius == 22 { return }
            }
        }
    }
}
