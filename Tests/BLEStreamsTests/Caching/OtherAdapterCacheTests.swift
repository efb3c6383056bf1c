import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// What is remembered of a peripheral that has a bond with another adapter than the present one.
@Suite(.timeLimit(.minutes(10))) struct OtherAdapterCacheTests {
    private static let moved = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(BluetoothUUID(0xA0FF), [.read], value: .stored([0xFF]))
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
    }

    private static func bond(with peer: BluetoothAddress) throws -> Bond {
        let key = try #require(SecretKey(octets: (1...16).map { UInt8($0) }))
        let encryption = Bond.EncryptionKey(kind: 2, initiator: 1, size: 16, diversifier: 7, random: 7, value: key)
        let former = BluetoothAddress(rawValue: 0x00AA_0909_0909, kind: .public)
        return Bond(peer: peer, adapter: former, encryptionKeys: [encryption], identityKey: nil)
    }

    @Test func `a bond of a former adapter doesn't vouch for services that changed meanwhile`() async throws {
        try await Bench.run { server, _ in
            for try await event in server.centralEvents {
                if case .disconnected = event { try server.replaceServices([Self.moved]) }
            }
        } _: { bench in
            // It has no hash, which would tell of the change.
            bench.air.faults.add(
                .replace(.where { $0.first == 0x08 && $0.suffix(2) == [0x2A, 0x2B] }) { pdu in
                    Array(pdu.dropLast(2)) + [0xEF, 0xBE]
                }
            )
            let store = PeerStore.inMemory()
            store.remember(try Self.bond(with: bench.peripheralAdapter.address))
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink { link in
                _ = try await link.discover()
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
            try await peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [4, 5, 6])
                #expect(!link.servicesAreRemembered)
            }
        }
    }
}
