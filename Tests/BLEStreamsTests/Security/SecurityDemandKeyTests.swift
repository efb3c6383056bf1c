import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A required level of security, by each of the ways in which a characteristic is named.
@Suite(.timeLimit(.minutes(10))) struct SecurityDemandKeyTests {
    private typealias Vault = SecurityOnDemandTests

    private static let twin = BluetoothUUID(0xB021)
    private static let (left, right) = (BluetoothUUID(0xB020), BluetoothUUID(0xB030))

    /// How the right one of the two is named.
    private static let names: [@Sendable (Link) async throws -> any CharacteristicKey] = [
        { .handle(try await twins($0).right.valueHandle) },
        { .handle(try #require(try await twins($0).right.descriptors.first).handle) },
        { try await twins($0).right },
        { _ in CharacteristicReference.uuid(twin, in: right) },
        { _ in TypedCharacteristic<UInt8>(twin, in: right) { reader throws(MalformedValue) in try reader.uint8() } },
        {
            TypedCharacteristic<UInt8>(twin) { reader throws(MalformedValue) in try reader.uint8() }
                .at(try await twins($0).right)
        },
    ]

    private static func twins(_ link: Link) async throws -> (left: Characteristic, right: Characteristic) {
        let database = try await link.discover()
        return (
            try #require(database.characteristic(twin, in: left)),
            try #require(database.characteristic(twin, in: right))
        )
    }

    private static func withTwins(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        let properties: Characteristic.Properties = [.read, .write, .notify]
        let twins = LocalPeripheral(name: "Twins") {
            for (service, value) in [(left, UInt8(1)), (right, 2)] {
                LocalService(service, id: "\(service)") {
                    LocalCharacteristic(twin, properties, value: .stored([value]), id: "\(service) value") {
                        LocalDescriptor.userDescription("the twin")
                    }
                }
            }
        }
        try await Bench.run(description: twins) { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
            try await body(bench)
        }
    }

    @Test(arguments: names.indices) func `the one that is named has the link raised, its twin has not`(
        name: Int
    ) async throws {
        try await Self.withTwins { bench in
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers()) { link in
                let key = try await Self.names[name](link)
                bench.peripheral.secure(key, to: .authenticated)
                let (left, right) = try await Self.twins(link)
                for value in [
                    try await link.read(Self.twin), try await link.read(left),
                    try await link.read(.handle(left.valueHandle)),
                ] { #expect(value.bytes == [1] && !link.security.isEncrypted) }
                let value = try await link.read(.handle(right.valueHandle))
                #expect(value.bytes == [2] && link.security.isAuthenticated && person.asked == 1)
            }
        }
    }

    @Test(arguments: names.indices) func `each way to name the right one meets the demand`(name: Int) async throws {
        try await Self.withTwins { bench in
            for use in Self.names.indices {
                let person = Vault.Person()
                try await bench.peripheral.withLink(pairing: person.answers()) { link in
                    bench.peripheral.secure(try await Self.names[name](link), to: .authenticated)
                    _ = try await link.read(try await Self.names[use](link).reference)
                    #expect(link.security.isAuthenticated && person.asked == 1, "\(name) \(use)")
                    bench.peripheral.secure(try await Self.names[name](link), to: nil)
                }
                try await bench.peripheral.unpair()
                bench.peripheralAdapter.forgetBonds()
            }
        }
    }

    @Test func `a handle is held to its demand before anything is known of the peripheral`() async throws {
        try await Self.withTwins { bench in
            let handle = try await bench.peripheral.withLink { try await Self.twins($0).right.valueHandle }
            bench.peripheral.forgetServices()
            bench.peripheral.secure(.handle(handle), to: .authenticated)
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers()) { link in
                let value = try await link.read(.handle(handle))
                #expect(value.bytes == [2] && link.security.isAuthenticated && person.asked == 1)
            }
        }
    }

    @Test func `a handle of nothing, and an own characteristic's name, demand nothing of what a peripheral has`()
        async throws
    {
        try await Self.withTwins { bench in
            bench.peripheral.secure(.handle(0xFFFF), to: .authenticated)
            try await bench.peripheral.withLink { link in
                let value = try await link.read(Self.twin)
                #expect(value.bytes == [1] && !link.security.isEncrypted)
            }
        }
    }
}
