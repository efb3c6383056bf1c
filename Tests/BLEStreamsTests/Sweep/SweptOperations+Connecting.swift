import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    /// Ways to a link, alone and together with others.
    static let ofConnecting: [SweptOperation] = [
        SweptOperation("connect", within: .seconds(50)) { world in
            try await world.peripheral.withLink { "\($0.mtu)" }
        },
        SweptOperation("connect and read", within: .seconds(80)) { world in
            try await world.peripheral.withLink { link in try await Array(link.read(Bench.readable)).description }
        },
        SweptOperation("connect, the kind of the address unknown", within: .seconds(50)) { world in
            try await world.unknownPeripheral.withLink { "\($0.mtu)" }
        },
        SweptOperation("connect again at once", within: .seconds(100)) { world in
            try await world.peripheral.withLink { _ in }
            return try await world.peripheral.withLink { "\($0.mtu)" }
        },
        bonded("connect to whom there is a bond with", within: .seconds(100)) { world in
            try await world.peripheral.withLink { try await Array($0.read(SweepSite.secret)).description }
        },
        SweptOperation("two on one link", within: .seconds(100)) { world in
            async let one = world.peripheral.withLink { try await Array($0.read(Bench.readable)).description }
            async let other = world.peripheral.withLink { try await Array($0.read(Bench.readOnly)).description }
            return try await one + other
        },
        together("two on one link, of whom one goes", within: .seconds(100)) { world in
            async let one = world.cancelled {
                try await world.peripheral.withLink { try await Array($0.read(Bench.readable)).description }
            }
            async let other = world.peripheral.withLink { try await Array($0.read(Bench.readOnly)).description }
            _ = try await one
            return try await other
        },
        SweptOperation("a stream over a link", within: .seconds(100)) { world in
            try await firstValues(of: world.peripheral.stream { $0.notifications(of: Bench.notifying) }, world)
        },
        SweptOperation("a stream over links, retried", within: .seconds(300)) { world in
            let stream = world.peripheral.stream { $0.notifications(of: Bench.notifying) }
                .retry(.exponential(attempts: 5))
            return try await firstValues(of: stream, world, resumed: true)
        },
        together("two streams over a link, of whom one goes", within: .seconds(300)) { world in
            async let one = world.cancelled {
                try await firstValues(of: world.peripheral.stream { $0.notifications(of: Bench.indicating) }, world)
            }
            let stream = world.peripheral.stream { $0.notifications(of: Bench.notifying) }
                .retry(.exponential(attempts: 5))
            async let other = firstValues(of: stream, world, resumed: true)
            _ = try? await one
            return try await other
        },
        SweptOperation("scan", within: .seconds(45)) { world in
            try await world.central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(40)).first().name ?? ""
        },
        SweptOperation("scan, then connect", within: .seconds(100)) { world in
            let found = try await world.central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(40)).first()
            return try await found.peripheral.withLink { try await Array($0.read(Bench.readable)).description }
        },
        SweptOperation("unpair", within: .seconds(100)) { world in
            try await world.peripheral.withLink { try await $0.pair() }
            try await world.peripheral.unpair()
            world.bench.peripheralAdapter.forgetBonds()
            return "\(world.peripheral.isBonded)"
        },
    ]

    /// One of which a part is cancelled, and the rest goes on.
    private static func together(
        _ name: String,
        within deadline: Duration,
        _ body: @escaping @Sendable (SweepWorld) async throws -> String
    ) -> SweptOperation {
        var operation = SweptOperation(name: name, deadline: deadline, site: SweepSite.basic) { world in
            await world.sweep(isCancelled: false) { try await body(world) }
        }
        operation.cancellation = deadline
        return operation
    }

    /// One with a peripheral that was paired with before.
    private static func bonded(
        _ name: String,
        within deadline: Duration,
        _ body: @escaping @Sendable (SweepWorld) async throws -> String
    ) -> SweptOperation {
        SweptOperation(name: name, deadline: deadline, site: SweepSite.basic) { world in
            try await world.peripheral.withLink { try await $0.pair() }
            await world.sweep { try await body(world) }
        }
    }
}

extension SweepWorld {
    /// The peripheral as somebody names it who knows the octets of its address only.
    fileprivate var unknownPeripheral: Peripheral {
        let address = bench.peripheralAdapter.address
        let other = BluetoothAddress(rawValue: address.rawValue, kind: address.kind == .random ? .public : .random)
        return Peripheral(core: central.core, address: other, alternatives: [address])
    }
}
