import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Characteristics that the program uses over secure links only, though the peripheral lets anybody have them.
@Suite(.timeLimit(.minutes(10))) struct SecurityDemandTests {
    private typealias Vault = SecurityOnDemandTests

    static let code = BluetoothUUID(0xB011)
    static let other = BluetoothUUID(0xB012)

    /// What can be done with the code.
    private static let uses: [@Sendable (Link) async throws -> Void] = [
        { _ = try await $0.read(code) },
        { try await $0.write([1], to: code) },
        { try await $0.write([1], to: code, .withoutResponse) },
        { try await $0.write([1], to: code, .reliable) },
        { _ = try await $0.notifications(of: code).first() },
        { _ = try await $0.values(of: code).first() },
        { _ = try await $0.readAll(code) },
        { _ = try await $0.readAll(BluetoothUUID.characteristicUserDescription) },
        { try await $0.run(.read(code)) },
        { link in _ = try await link.exclusively { try await $0.read(code) } },
        { link in
            let handle = try await link.discover().characteristic(code)?.valueHandle ?? 0
            _ = try await link.read(.handle(handle))
        },
        { link in
            let handle = try await link.discover().characteristic(code)?.valueHandle ?? 0
            try await link.write([1], to: .handle(handle), .withoutResponse)
        },
        { link in
            let found = try await link.discover().characteristic(code)
            let handles = [found?.valueHandle ?? 0, found?.descriptors.first?.handle ?? 0]
            _ = try await link.read(handles: handles)
        },
    ]

    /// Requests and commands on handles of values and descriptors: whatever a program might tell, or learn.
    private static func uses(_ bench: Bench) -> Int {
        let opcodes: Set<UInt8> = [0x0A, 0x0C, 0x0E, 0x12, 0x16, 0x18, 0x20, 0x52]
        return bench.sent(by: .central).count { opcodes.contains($0.first ?? 0) }
    }

    private static func withLock(
        manner: PairingManner,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        let properties: Characteristic.Properties = [.read, .write, .writeWithoutResponse, .notify]
        let lock = LocalPeripheral(name: "Lock") {
            LocalService(BluetoothUUID(0xB010)) {
                LocalCharacteristic(code, properties, value: .stored([42])) {
                    LocalDescriptor.userDescription("the code")
                }
                LocalCharacteristic(other, properties, value: .stored([43]))
            }
        }
        let beat: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            while true {
                _ = try? await server.notify([7], of: code)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        try await Bench.run(description: lock, serve: beat) { bench in
            bench.peripheralAdapter.settings.pairing = manner
            try await body(bench)
        }
    }

    @Test func `each use has the link raised before anything is sent`() async throws {
        try await Self.withLock(manner: .showsPasskey(Vault.passkey)) { bench in
            bench.peripheral.secure(Self.code, to: .authenticated)
            for use in Self.uses {
                let person = Vault.Person()
                try await bench.peripheral.withLink(pairing: person.answers()) { link in
                    let value = try await link.read(Self.other)
                    #expect(value.bytes == [43] && !link.security.isEncrypted)
                    try await use(link)
                    #expect(link.security.isAuthenticated && person.asked == 1)
                }
                try await bench.peripheral.unpair()
                bench.peripheralAdapter.forgetBonds()
                bench.peripheral.forgetServices()
            }
        }
    }

    @Test func `where the link can't be raised nothing is sent, and the error says what was demanded`() async throws {
        try await Self.withLock(manner: .justWorks) { bench in
            bench.peripheral.secure(Self.code, to: .authenticated)
            for use in Self.uses {
                try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                    _ = try await link.discover()
                    bench.air.clearTrace()
                    let error = await bleError { try await use(link) }
                    #expect(error?.code == .securityFailed && error?.operation != "secure link", "\(error as Any)")
                    #expect(error?.cause.hasPrefix("it requires a link that is authenticated: ") == true)
                    #expect(Self.uses(bench) == 0)
                    let value = try await link.read(Self.other)
                    #expect(value.bytes == [43])
                }
            }
        }
    }

    @Test func `a session takes its values over nothing less, on each of its links`() async throws {
        try await Self.withLock(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers())
            bench.peripheral.secure(Self.code, to: .authenticated)
            let plan = Session.Plan(bench.peripheral).subscribing(to: Self.code)
            try await bench.central.withSession(plan) { session in
                var count = 0
                for try await value in session.notifications(of: Self.code) {
                    let isAuthenticated = try await session.withLink { $0.security.isAuthenticated }
                    #expect(value.bytes == [7] && isAuthenticated)
                    count += 1
                    if count == 3 { break }
                    _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                }
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `who gives up leaves the link to others`() async throws {
        try await Self.withLock(manner: .showsPasskey(Vault.passkey)) { bench in
            bench.peripheral.secure(Self.code, to: .authenticated)
            let answers = Vault.Person().answers(after: .seconds(20), on: bench.time)
            try await bench.peripheral.withLink(pairing: answers) { link in
                for use in Self.uses {
                    let error = await bleError {
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await use(link) }
                            group.addTask {
                                try await bench.time.sleep(for: .seconds(2))
                                throw BLEError(.timedOut, operation: "wait", cause: "long enough")
                            }
                            defer { group.cancelAll() }
                            try await group.next()
                        }
                    }
                    #expect(error?.operation == "wait")
                    let value = try await link.read(Self.other)
                    #expect(value.bytes == [43])
                }
            }
        }
    }

    @Test func `what is demanded no more is used as before`() async throws {
        try await Self.withLock(manner: .justWorks) { bench in
            bench.peripheral.secure(Self.code, to: .encrypted)
            bench.peripheral.secure(Self.code, to: nil)
            try await bench.peripheral.withLink { link in
                let value = try await link.read(Self.code)
                #expect(value.bytes == [42] && !link.security.isEncrypted)
            }
        }
    }

    /// Who demands the level: nobody, the program for the characteristic, for the link, or for each link of a session.
    @Test(arguments: 0...3)
    func `what came before the link had the level is not delivered, and counts as dropped`(_ way: Int) async throws {
        try await Self.withLock(manner: .showsPasskey(Vault.passkey)) { bench in
            let handle = try await bench.peripheral.withLink { link in
                try await link.discover().characteristic(Self.code)?.valueHandle ?? 0
            }
            let forged = [0x1B, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 99]
            let radio = EagerRadio(radio: bench.centralAdapter, time: bench.time, early: [forged])
            let central = try await Central.open(.radio(radio))
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            peripheral.allowPairing(.passkey(Vault.passkey))
            if way == 1 { peripheral.secure(Self.code, to: .authenticated) }
            let take: @Sendable (BLEStream<CharacteristicValue>) async throws -> Void = { stream in
                for try await value in stream {
                    #expect(value.bytes == (way == 0 ? [99] : [7]))
                    #expect(stream.counters.dropped == (way == 0 ? 0 : 1))
                    break
                }
            }
            if way == 3 {
                var plan = Session.Plan(peripheral)
                plan.security = .authenticated
                try await central.withSession(plan) { session in try await take(session.notifications(of: Self.code)) }
            } else {
                try await peripheral.withLink { link in
                    if way == 2 { try await link.secure(to: .authenticated) }
                    try await take(link.notifications(of: Self.code))
                }
            }
        }
    }
}
