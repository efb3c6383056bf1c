import BLESimulator
import BLEStreams
import Testing

/// What a peripheral asks of a central before it lets it read and write, and in which order it says what is missing.
@Suite(.timeLimit(.minutes(10))) struct AuthorizationTests {
    private static let guarded = BluetoothUUID(0xF001)
    private static let secret = BluetoothUUID(0xF002)
    private static let description = LocalPeripheral(name: "Guarded") {
        LocalService(BluetoothUUID(0xF000)) {
            LocalCharacteristic(guarded, [.read, .write], value: .stored([1]), access: .open.authorized)
            LocalCharacteristic(secret, [.read], value: .stored([2]), access: .authenticated.authorized)
        }
    }

    @Test func `a central is let at it once the program has authorized it`() async throws {
        try await Bench.run(description: Self.description) { server, bench in
            for try await event in server.centralEvents {
                guard case .connected(let central) = event else { continue }
                #expect(!central.isAuthorized)
                try await bench.time.sleep(for: .seconds(10))
                central.isAuthorized = true
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let refused = await bleError { _ = try await link.read(Self.guarded) }
                #expect(refused?.attError == .insufficientAuthorization)
                try await bench.time.sleep(for: .seconds(20))
                try await link.expect(Self.guarded, reads: [1])
                try await link.write([3], to: Self.guarded)
                try await link.expect(Self.guarded, reads: [3])
                // What the link lacks is said before what the program thinks.
                let unsafe = await bleError { _ = try await link.read(Self.secret) }
                #expect(unsafe?.attError == .insufficientAuthentication)
            }
        }
    }

    @Test func `a central that is authorized no more is sent nothing, and the program is told why`() async throws {
        let told = BluetoothUUID(0xF003)
        let description = LocalPeripheral(name: "Telling") {
            LocalService(BluetoothUUID(0xF000)) { LocalCharacteristic(told, [.notify], access: .open.authorized) }
        }
        let refusals = Recorder<BLEError?>()
        try await Bench.run(description: description) { server, _ in
            for try await event in server.centralEvents {
                guard case .connected(let central) = event else { continue }
                central.isAuthorized = true
                for try await change in server.subscriptions(of: told) where change.isSubscribed {
                    try await server.notify([1], of: told, to: central)
                    central.isAuthorized = false
                    refusals.add(await bleError { try await server.notify([2], of: told, to: central) })
                    refusals.add(try await server.notify([2], of: told).first?.error)
                    refusals.add(await bleError { try await server.send([2], of: told, to: central) })
                    central.isAuthorized = true
                    try await server.notify([3], of: told, to: central)
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let values = try await link.notifications(of: told).collect(2).map(Array.init)
                #expect(values == [[1], [3]])
            }
        }
        #expect(refusals.all.count == 3)
        for refusal in refusals.all {
            #expect(refusal?.code == .permissionDenied)
            #expect(refusal?.cause.contains("authorized") == true && refusal?.cause.contains("secure") == false)
            #expect(refusal?.remedy.contains("isAuthorized") == true)
        }
    }
}
