import BLEStreams

/// Visits every two seconds: reads and writes whatever is permitted, listens for a while, and leaves.
struct DemoGuest: DemoVisitor {
    func live(_ peripheral: Peripheral) async throws {
        for visit in 1... {
            do {
                try await peripheral.withLink(timeout: .seconds(60)) { link in try await look(link, visit) }
            } catch is BLEError {
                // The command has ended, or has ended the link.
            }
            try await Task.sleep(for: .seconds(2))
        }
    }

    private func look(_ link: Link, _ visit: Int) async throws {
        let services = try await link.discover().services
        let mandatory: [BluetoothUUID] = [.genericAccess, .genericAttribute]
        for characteristic in services.filter({ !mandatory.contains($0.uuid) }).flatMap(\.characteristics) {
            let properties = characteristic.properties
            if properties.contains(.read) { _ = try await link.read(characteristic) }
            let notifications = link.notifications(of: characteristic).timeout(.seconds(3), for: .wholeStream)
            guard !properties.isDisjoint(with: [.notify, .indicate]) else { continue }
            var count = 0
            do {
                // Its write may cause the notification that it waits for.
                if properties.contains(.write) { try await link.write("visit \(visit)".utf8, to: characteristic) }
                for try await _ in notifications {
                    count += 1
                    if count == 3 { break }
                }
            } catch let error as BLEError where error.code == .timedOut {}
        }
    }
}
