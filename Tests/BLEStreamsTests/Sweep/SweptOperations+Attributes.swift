import BLEDevices
import BLEProtocol
import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    private static let described = BluetoothUUID(0xA0D1)
    private static let signed = BluetoothUUID(0xA0D2)
    private static let userDescription = BluetoothUUID(0x2901)

    /// Descriptors, signed writes, a serial line, a verification; and links by several adapters as one.
    static let ofAttributes: [SweptOperation] = [
        onLink("read a descriptor", site: attributes) { link, _ in
            "\(try await link.read(descriptor: userDescription, of: described))"
        },
        onLink("write a descriptor", within: .seconds(80), site: attributes) { link, _ in
            try await link.write([0x68, 0x6F], toDescriptor: userDescription, of: described)
            return "\(try await link.read(descriptor: userDescription, of: described))"
        },
        onLink("write, signed", site: attributes) { link, _ in
            guard let key = SigningKey(octets: 0..<16) else { return "no key" }
            try await link.write([1], to: signed, signedWith: key, counter: 7)
            return try await Array(link.read(Bench.readOnly)).description
        },
        onLink("a serial line, there and back", within: .seconds(100), mtu: 64, site: attributes) { link, world in
            let line = link.bytes(of: .nordicUART)
            let sent = [UInt8](0..<200)
            var received: [UInt8] = []
            async let writing: Void = line.write(sent)
            for try await octet in line.incoming.timeout(.seconds(60)) {
                if world.consumerLeaves { return "left" }
                received.append(octet)
                if received.count == SweepSite.greeting.count { break }
            }
            try await writing
            return "\(received)"
        },
        onLink("verify", within: .seconds(1800), site: attributes) { link, _ in
            "\(try await link.verify().count)"
        },
        joined("connect and read, by adapters that are joined", within: .seconds(100)) { central, world in
            try await central.peripheral(world.peripheral.address).withLink { link in
                try await Array(link.read(Bench.readable)).description
            }
        },
        joined("a stream over links by joined adapters, retried", within: .seconds(300)) { central, world in
            let stream = central.peripheral(world.peripheral.address)
                .stream { $0.notifications(of: Bench.notifying) }.retry(.exponential(attempts: 5))
            return try await firstValues(of: stream, world, resumed: true)
        },
    ]

    /// One with a second adapter beside the one that is disturbed, both used as one.
    private static func joined(
        _ name: String,
        within deadline: Duration,
        _ body: @escaping @Sendable (Central, SweepWorld) async throws -> String
    ) -> SweptOperation {
        SweptOperation(name: name, deadline: deadline, site: SweepSite.basic) { world in
            let other = world.bench.air.adapter()
            let central = try await Central.open(.joined([.radio(world.radio), .radio(other)]), store: .inMemory())
            await world.sweep { try await body(central, world) }
            try await world.bench.time.sleep(for: SweepWorld.settling)
            if !other.activity.isIdle { world.report("the other adapter: \(other.activity)") }
            for left in central.leftovers { world.report("of the joined adapters: \(left)") }
        }
    }

    private static let attributes: @Sendable () -> SweepSite = {
        var description = Bench.description
        description.services.append(
            LocalService(BluetoothUUID(0xA0D0)) {
                LocalCharacteristic(described, [.read, .extendedProperties], value: .stored([3])) {
                    LocalDescriptor(
                        userDescription,
                        value: .stored([0x68, 0x69]),
                        permissions: AttributePermissions(read: .open, write: .open)
                    )
                }
                LocalCharacteristic(signed, [.authenticatedSignedWrites, .write], value: .stored([0]))
            }
        )
        description.services.append(
            LocalService(SerialService.nordicUART.service) {
                LocalCharacteristic(SerialService.nordicUART.outgoing, [.writeWithoutResponse], value: .stored([]))
                LocalCharacteristic(SerialService.nordicUART.incoming, [.notify])
            }
        )
        let notifying = [Bench.notifying, SerialService.nordicUART.incoming]
        return SweepSite(description, notifying: notifying) { server, _, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                        for number in UInt8(0)..<4 {
                            _ = try? await server.notify([number], of: Bench.notifying, to: change.central)
                        }
                    }
                }
                group.addTask {
                    let incoming = SerialService.nordicUART.incoming
                    for try await change in server.subscriptions(of: incoming) where change.isSubscribed {
                        try? await server.bytes(of: .nordicUART, with: change.central).write(SweepSite.greeting)
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

extension SweepSite {
    /// What the serial line says by itself.
    static let greeting = [UInt8](repeating: 0x3E, count: 150)
}
