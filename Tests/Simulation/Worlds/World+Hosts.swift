import BLERadio
import BLESimulator
import BLEStreams

/// The steps of a computer that is a peripheral with the adapter by which it connects.
extension World {
    private static let hosted = BluetoothUUID(0xC000)
    private static let hostedValue = BluetoothUUID(0xC001)
    private static let hostedMessage = BluetoothUUID(0xC002)
    private static let greeting: [UInt8] = Array("hosted".utf8)
    private static let news = (0..<700).map { UInt8(truncatingIfNeeded: $0) }

    /// Serves until it is cancelled: a value, and a message for each central that subscribes.
    func serve(_ name: String, of central: Int) async throws {
        var local = LocalPeripheral(name: "C\(central)", advertising: [Self.hosted]) {
            LocalService(Self.hosted) {
                LocalCharacteristic(Self.hostedValue, [.read], value: .stored(Self.greeting))
                LocalCharacteristic(Self.hostedMessage, [.notify])
            }
        }
        local.resuming = .exponential()
        let warning: PeerStore.Warning = { [weak self] in self?.log("\(name) is told: \($0)") }
        try await local.run(on: .radio(centralAdapters[central]), warning: warning) { server in
            self.reached("served by a central's adapter")
            for try await change in server.subscriptions(of: Self.hostedMessage) where change.isSubscribed {
                try? await server.send(Self.news, of: Self.hostedMessage, to: change.central)
            }
        }
    }

    /// Uses what another central serves, as often as its manner has it, and tries again until it is cancelled.
    func visit(_ other: Int, _ manner: Manner, _ name: String, of central: Int) async throws {
        let host = self.central(central).peripheral(centralAdapters[other].address)
        var visits = 0
        while visits < min(manner.count, 5) {
            do {
                // No peripheral has such a number.
                try await visit(host, -1 - other, name, of: central)
                reached("visited")
                visits += 1
            } catch let error as BLEError {
                log("\(name): \(error)")
                check(error, of: name)
                reached("visit: \(error.code)")
            }
            try await time.sleep(for: manner.pace + .seconds(1))
        }
    }

    private func visit(_ host: Peripheral, _ number: Int, _ name: String, of central: Int) async throws {
        try await host.withLink(timeout: .seconds(30)) { link in
            let value = try await link.read(Self.hostedValue)
            if Array(value) != Self.greeting, !self.plan.altersValues {
                self.report("\(name) reads \(value.count) octets that nobody wrote", "value")
            }
            let receiver = self.beginsMessage(number, of: central)
            defer { self.endsMessage(number, of: central) }
            let message = try await link.notifications(of: Self.hostedMessage, buffer: .unbounded)
                .assembled(until: .endOfMessage()).timeout(.seconds(30)).first()
            // Who takes part in another one's subscription may come in the middle of a message.
            if message != Self.news, !self.plan.altersMessages, self.isAlone(receiver, number, of: central) {
                self.report("\(name) gets \(message.count) octets, another message than was sent", "message")
            }
        }
    }
}
