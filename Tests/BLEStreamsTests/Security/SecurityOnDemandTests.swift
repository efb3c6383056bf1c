import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Operations that turn out to need a more secure link, which is made so for them where somebody answers.
@Suite(.timeLimit(.minutes(10))) struct SecurityOnDemandTests {
    static let secret = BluetoothUUID(0xB001)
    static let guarded = BluetoothUUID(0xB002)
    static let open = BluetoothUUID(0xB003)
    static let granted = BluetoothUUID(0xB004)
    static let passkey: UInt32 = 624_813

    static let vault = LocalPeripheral(name: "Vault") {
        LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(secret, [.read, .write, .notify], value: .stored([42]), access: .encrypted)
            LocalCharacteristic(guarded, [.read, .write, .notify], value: .stored([43]), access: .authenticated)
            LocalCharacteristic(open, [.read, .write, .notify], value: .stored([44]))
            LocalCharacteristic(granted, [.read], value: .stored([45]), access: .open.authorized)
        }
    }

    /// A person who enters the passkey, and how often that was asked.
    final class Person: Sendable {
        private let count = Mutex(0)
        var asked: Int { count.withLock { $0 } }

        func answers(
            _ passkey: UInt32? = SecurityOnDemandTests.passkey,
            after delay: Duration = .zero,
            on time: VirtualTime? = nil
        ) -> PairingAnswers {
            PairingAnswers(passkey: { [self] in
                count.withLock { $0 += 1 }
                try? await time?.sleep(for: delay)
                return passkey
            })
        }
    }

    private static let beat: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        while true {
            _ = try? await server.notify([7], of: secret)
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    private static let count: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        for try await change in server.subscriptions(of: open) where change.isSubscribed {
            for number in 0..<UInt8(20) {
                try await server.notify([number], of: open, to: change.central)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
    }

    static func withVault(
        manner: PairingManner = .justWorks,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await Bench.run(description: vault, serve: beat) { bench in
            bench.peripheralAdapter.settings.pairing = manner
            try await body(bench)
        }
    }

    /// How often the central has asked for the value of an attribute.
    static func reads(_ bench: Bench) -> Int { bench.sent(by: .central).count { $0.first == 0x0A } }

    @Test func `a protected value is read, and who answers is asked on the way`() async throws {
        try await Self.withVault(manner: .showsPasskey(Self.passkey)) { bench in
            let person = Person()
            let value = try await bench.peripheral.withLink(pairing: person.answers()) { link in
                try await link.read(Self.secret)
            }
            #expect(value.bytes == [42] && person.asked == 1)
            #expect(bench.peripheral.bond?.isAuthenticated == true)
            // Afterwards it is encrypted from the start: nobody is asked, and one request brings the value.
            bench.air.clearTrace()
            try await bench.peripheral.withLink(pairing: person.answers()) { link in
                #expect(link.security.level == .secureConnections)
                let value = try await link.read(Self.secret)
                #expect(value.bytes == [42])
            }
            #expect(person.asked == 1 && Self.reads(bench) == 1)
        }
    }

    @Test func `it is said once for a central, or for a peripheral`() async throws {
        try await Self.withVault { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), pairing: PairingAnswers())
            let vault = central.peripheral(bench.peripheralAdapter.address)
            let value = try await vault.withLink { try await $0.read(Self.secret) }
            #expect(value.bytes == [42])
            try await vault.unpair()
            bench.peripheralAdapter.forgetBonds()
            bench.peripheral.allowPairing(PairingAnswers())
            let again = try await bench.peripheral.withLink { try await $0.read(Self.secret) }
            #expect(again.bytes == [42])
            bench.peripheral.allowPairing(nil)
            #expect(bench.peripheral.core.preferences.answers(for: bench.peripheral.address) == nil)
        }
    }

    @Test func `without answers nobody is paired with, and the error says who could answer`() async throws {
        try await Self.withVault { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { _ = try await link.read(Self.secret) }
                #expect(error?.code == .attributeError && !link.security.isEncrypted)
                for way in ["Link.pair()", "Central.open(pairing:)", "allowPairing", "withLink(pairing:)"] {
                    #expect(error?.remedy.contains(way) == true)
                }
            }
            #expect(!bench.peripheral.isBonded)
        }
    }

    @Test func `each kind of operation has the link raised`() async throws {
        try await Self.withVault { bench in
            let operations: [@Sendable (Link) async throws -> Void] = [
                { _ = try await $0.read(Self.secret) },
                { try await $0.write([1], to: Self.secret) },
                { try await $0.write([1, 2], to: Self.secret, .reliable) },
                { try await $0.write([UInt8](repeating: 5, count: 512), to: Self.secret) },
                { _ = try await $0.notifications(of: Self.secret).first() },
                { _ = try await $0.values(of: Self.secret).first() },
                { link in
                    let handles = try await link.discover().services.flatMap(\.characteristics)
                        .filter { [Self.secret, Self.open].contains($0.uuid) }.map(\.valueHandle)
                    _ = try await link.read(handles: handles)
                },
                { _ = try await $0.readAll(Self.secret) },
                { link in _ = try await link.exclusively { try await $0.read(Self.secret) } },
                { try await $0.run(.read(Self.secret)) },
            ]
            for operation in operations {
                try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                    try await operation(link)
                    #expect(link.security.isEncrypted)
                }
                try await bench.peripheral.unpair()
                bench.peripheralAdapter.forgetBonds()
            }
        }
    }

    @Test func `a discovery that is refused has the link raised, whatever it is for`() async throws {
        try await Self.withVault { bench in
            let operations: [@Sendable (Link) async throws -> Void] = [
                { _ = try await $0.discover() },
                { _ = try await $0.discover(services: [BluetoothUUID(0xB000)]) },
                { _ = try await $0.read(Self.open) },
                { _ = try await $0.notifications(of: Self.secret).first() },
            ]
            for operation in operations {
                // Once, for the services or for those of one type: Insufficient Encryption.
                bench.air.faults.add(
                    .replace(.where { $0.first == 0x11 || $0.first == 0x07 }) { answer in
                        [0x01, answer[0] - 1, 0x01, 0x00, 0x0F]
                    }
                    .times(1)
                )
                try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                    try await operation(link)
                    #expect(link.security.isEncrypted)
                }
                try await bench.peripheral.unpair()
                bench.peripheralAdapter.forgetBonds()
                bench.peripheral.forgetServices()
            }
        }
    }

    @Test func `Service Changed that is refused is subscribed to again once the link is raised`() async throws {
        try await Self.withVault { bench in
            // Client Supported Features, and Service Changed: Insufficient Encryption, for no handle.
            bench.air.faults.add(.replace(.opcode(0x13), with: [0x01, 0x12, 0x00, 0x00, 0x0F]).times(2))
            try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                _ = try await link.discover()
                #expect(!link.security.isEncrypted)
                _ = try await link.read(Self.secret)
                let indicating = bench.sent(by: .central).filter { $0.first == 0x12 && $0.suffix(2) == [2, 0] }
                #expect(indicating.count == 2, "\(indicating)")
            }
        }
    }

    @Test func `several that are refused at once raise the link once`() async throws {
        try await Self.withVault(manner: .showsPasskey(Self.passkey)) { bench in
            let person = Person()
            let answers = person.answers(after: .seconds(5), on: bench.time)
            try await bench.peripheral.withLink(pairing: answers) { link in
                try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for uuid in [Self.secret, Self.guarded, Self.secret, Self.open, Self.guarded] {
                        group.addTask { Array(try await link.read(uuid).bytes) }
                    }
                    var values: [[UInt8]] = []
                    for try await value in group { values.append(value) }
                    #expect(values.map { $0[0] }.sorted() == [42, 42, 43, 43, 44])
                }
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `meanwhile others wait, and what the peripheral sends is delivered`() async throws {
        try await Bench.run(description: Self.vault, serve: Self.count) { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            let answers = Person().answers(after: .seconds(9), on: bench.time)
            try await bench.peripheral.withLink(pairing: answers) { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let numbers = try await link.notifications(of: Self.open).prefix(20).collect(20).map { $0[0] }
                        #expect(numbers == Array(0..<20))
                    }
                    group.addTask {
                        try await bench.time.sleep(for: .seconds(2))
                        let value = try await link.read(Self.secret)
                        #expect(value.bytes == [42] && bench.time.now > .seconds(11))
                    }
                    group.addTask {
                        try await bench.time.sleep(for: .seconds(4))
                        // Also a command, which has a lane of its own.
                        try await link.write([1], to: Self.open)
                        #expect(bench.time.now > .seconds(11))
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a link that is encrypted without a passkey is paired anew for a value that wants one`() async throws {
        try await Self.withVault { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            #expect(bench.peripheral.bond?.isAuthenticated == false)
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            let person = Person()
            try await bench.peripheral.withLink(pairing: person.answers()) { link in
                #expect(link.security.level == .encrypted)
                let value = try await link.read(Self.guarded)
                #expect(value.bytes == [43] && link.security.isAuthenticated)
            }
            #expect(person.asked == 1 && bench.peripheral.bond?.isAuthenticated == true)
            try await bench.peripheral.withLink { link in #expect(link.security.isAuthenticated) }
        }
    }

    @Test func `a passkey that is wrong is told with the operation, and nobody is asked again on that link`()
        async throws
    {
        try await Self.withVault(manner: .showsPasskey(Self.passkey)) { bench in
            let person = Person()
            try await bench.peripheral.withLink(pairing: person.answers(1)) { link in
                for _ in 0..<3 {
                    let error = await bleError { _ = try await link.read(Self.secret) }
                    #expect(error?.code == .securityFailed && error?.pairingFailure == .wrongPasskey)
                    #expect(error?.operation == "read" && error?.attError == .insufficientAuthentication)
                    #expect(error?.isFinal == true)
                }
                let value = try await link.read(Self.open)
                #expect(value.bytes == [44])
                // In so many words it is tried again.
                try await link.secure(to: .authenticated, answers: .passkey(Self.passkey))
                let secret = try await link.read(Self.secret)
                #expect(secret.bytes == [42])
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `who answers for operations is asked also where the program's own pairing has failed on that link`()
        async throws
    {
        try await Self.withVault(manner: .showsPasskey(Self.passkey)) { bench in
            let person = Person()
            try await bench.peripheral.withLink(pairing: person.answers()) { link in
                let error = await bleError { try await link.pair() }
                #expect(error?.pairingFailure == .needsAnswers && person.asked == 0, "\(error as Any)")
                let value = try await link.read(Self.secret)
                #expect(value.bytes == [42] && person.asked == 1)
            }
        }
    }

    @Test func `what a program must grant is not paired for`() async throws {
        try await Self.withVault { bench in
            try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                let error = await bleError { _ = try await link.read(Self.granted) }
                #expect(error?.attError == .insufficientAuthorization && !link.security.isEncrypted)
                #expect(error?.remedy.contains("not by pairing") == true)
            }
        }
    }

    @Test func `a peer that refuses for ever is paired with once`() async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time, security: .none) { request in
                    switch request[0] {
                    case 0x02: [(.zero, [0x03, 0x05, 0x02])]
                    default: [(.zero, [0x01, request[0], request[1], request[2], 0x05])]
                    }
                }
            ]
        } _: { link, _ in
            let link = link.answering(PairingAnswers())
            for _ in 0..<3 {
                let error = await bleError { _ = try await link.read(.handle(5)) }
                #expect(error?.attError == .insufficientAuthentication && error?.cause.contains("pair") == true)
            }
        }
    }

    @Test func `a bond that the peripheral has lost is no reason to pair again`() async throws {
        try await Self.withVault { bench in
            let vault = bench.peripheral
            vault.allowPairing(PairingAnswers())
            _ = try await vault.withLink { try await $0.read(Self.secret) }
            bench.peripheralAdapter.forgetBonds()
            for _ in 0..<2 {
                let error = await bleError { _ = try await vault.withLink { try await $0.read(Self.secret) } }
                #expect(error?.code == .securityFailed && error?.remedy.contains("unpair") == true, "\(error as Any)")
            }
            #expect(vault.isBonded)
        }
    }
}
