import BLEDevices
import BLEProtocol
import BLESimulator

@testable import BLEStreams

extension SweepSite {
    static let described = BluetoothUUID(0xA0D1)
    static let signed = BluetoothUUID(0xA0D2)
    static let signingKey = SigningKey(octets: 0..<16)

    /// What fewer devices have: a serial line, which repeats what is written to it, a value with a description that can
    /// be written, and one that takes signed writes too.
    static func uncommon() -> SweepSite {
        var description = Bench.description
        // Nobody answers for it here.
        description.services[0].characteristics.removeAll { $0.uuid == Bench.dynamic }
        description.services += [
            LocalService.serialLine(),
            LocalService(BluetoothUUID(0xA0D0)) {
                LocalCharacteristic(described, [.read], value: .stored([5])) {
                    LocalDescriptor.userDescription("Window", writing: .open)
                }
                LocalCharacteristic(signed, [.read, .write, .authenticatedSignedWrites], value: .stored([6]))
            },
        ]
        let notifying = [Bench.notifying, SerialService.nordicUART.incoming]
        return SweepSite(description, notifying: notifying) { server, _, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await repeatLines(server) }
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                        _ = try? await server.notify([0], of: Bench.notifying, to: change.central)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static func repeatLines(_ server: PeripheralServer) async throws {
        try await withThrowingDiscardingTaskGroup { lines in
            let subscriptions = server.subscriptions(of: SerialService.nordicUART.incoming)
            for try await change in subscriptions where change.isSubscribed {
                lines.addTask {
                    let line = server.bytes(of: .nordicUART, with: change.central)
                    // Who leaves in the middle leaves its line, and no other.
                    do { for try await chunk in line.chunks { try await line.write(chunk) } } catch is BLEError {}
                }
            }
        }
    }
}
