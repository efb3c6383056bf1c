import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Security on demand, together with what else a program uses.
@Suite(.timeLimit(.minutes(10))) struct SecurityMeetingsTests {
    private typealias Vault = SecurityOnDemandTests

    @Test func `a queue that connects and retries reads a protected value`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers(after: .seconds(3), on: bench.time))
            bench.air.faults.add(.dropLink(after: 6, .requests))
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(timeout: .seconds(5)).retrying(.exponential(attempts: 4))
                let value = try await queue.run(.read(Vault.secret))
                #expect(value.bytes == [42])
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `a queue that retries asks a person who refuses once`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers(nil))
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting().retrying(.exponential(attempts: 4))
                let error = await bleError { _ = try await queue.run(.read(Vault.secret)) }
                #expect(error?.pairingFailure == .refused)
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `after a try that has failed nobody is asked again on that link, however often it is tried`()
        async throws
    {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            let always: @Sendable (any Error) -> Bool = { _ in true }
            try await bench.peripheral.withLink(pairing: person.answers(nil)) { link in
                let operations: [@Sendable (Link) async throws -> Void] = [
                    { _ = try await $0.read(Vault.secret) },
                    { try await $0.write([1], to: Vault.guarded) },
                    { try await $0.run(.read(Vault.secret).retry(.exponential(attempts: 3), when: always)) },
                    { link in
                        let beats = link.notifications(of: Vault.secret)
                        _ = try await beats.retry(.exponential(attempts: 3), when: always).first()
                    },
                    { link in _ = try await link.exclusively { try await $0.read(Vault.secret) } },
                ]
                for operation in operations {
                    let error = await bleError { try await operation(link) }
                    #expect(error?.pairingFailure == .refused && error?.isFinal == true, "\(error as Any)")
                }
                #expect(person.asked == 1 && !link.security.isEncrypted)
            }
            // Another link is another chance.
            let error = await bleError {
                try await bench.peripheral.withLink(pairing: person.answers(nil)) { link in
                    _ = try await link.read(Vault.secret)
                }
            }
            #expect(error?.pairingFailure == .refused && person.asked == 2)
        }
    }

    @Test func `a session subscribes to a protected characteristic, and again after a lost link`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers(after: .seconds(4), on: bench.time))
            let plan = Session.Plan(bench.peripheral).subscribing(to: Vault.secret)
            try await bench.central.withSession(plan) { session in
                var count = 0
                for try await value in session.notifications(of: Vault.secret) {
                    #expect(value.bytes == [7])
                    count += 1
                    if count == 2 { break }
                    _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                }
            }
            #expect(person.asked == 1)
        }
    }

    @Test func `a session's plan demands a level`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.security = .authenticated
            bench.peripheral.allowPairing(.passkey(Vault.passkey))
            try await bench.central.withSession(plan) { session in
                let isAuthenticated = try await session.withLink { $0.security.isAuthenticated }
                #expect(isAuthenticated)
            }
            let record = SessionRecord(plan, name: nil)
            #expect(record.plan(for: bench.peripheral.address)?.security == .authenticated)
        }
    }

    @Test func `a link that is lost in the middle of it ends the operation`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            let error = await bleError {
                try await bench.peripheral.withLink(pairing: person.answers(after: .seconds(20), on: bench.time)) {
                    link in
                    async let value = link.read(Vault.secret)
                    try await bench.time.sleep(for: .seconds(2))
                    _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                    _ = try await value
                }
            }
            #expect(error?.code == .disconnected, "\(error as Any)")
            #expect(bench.time.now < .seconds(15) && !bench.peripheral.isBonded)
        }
    }

    @Test func `a link that is lost while its keys are made better tells why it has ended`() async throws {
        try await Vault.withVault { bench in
            let person = Vault.Person()
            let answers = person.answers(after: .seconds(20), on: bench.time)
            let operations: [@Sendable (Link) async throws -> Void] = [
                { try await $0.secure(to: .authenticated, answers: answers) },
                { _ = try await $0.read(Vault.guarded) },
                { _ = try await $0.notifications(of: Vault.guarded).first() },
            ]
            for operation in operations {
                bench.peripheralAdapter.settings.pairing = .justWorks
                let error = await bleError {
                    try await bench.peripheral.withLink(pairing: answers) { link in
                        try await link.pair()
                        bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
                        _ = bench.air.faults.add(.dropLink(after: .seconds(2)))
                        try await operation(link)
                    }
                }
                #expect(error?.code == .disconnected && error?.reason?.kind == .supervisionTimeout, "\(error as Any)")
            }
            #expect(person.asked == operations.count)
        }
    }

    @Test func `an operation that is cancelled in the middle leaves the others theirs`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers(after: .seconds(9), on: bench.time)) { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await bench.time.sleep(for: .seconds(1))
                        let value = try await link.read(Vault.guarded)
                        #expect(value.bytes == [43])
                    }
                    group.addTask {
                        // Its limit counts the time of the person, and nobody else's.
                        let error = await bleError { _ = try await link.read(Vault.secret, timeout: .seconds(3)) }
                        #expect(error?.code == .timedOut)
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `when all have left, nobody is asked any more, and the link goes on`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers(after: .seconds(9), on: bench.time)) { link in
                let error = await bleError { _ = try await link.read(Vault.secret, timeout: .seconds(3)) }
                #expect(error?.code == .timedOut && bench.time.now < .seconds(5))
                let value = try await link.read(Vault.open)
                #expect(value.bytes == [44] && !bench.peripheral.isBonded)
                // The program has ended it, not the peer: with more time it works.
                let secret = try await link.read(Vault.secret)
                #expect(secret.bytes == [42] && person.asked == 2)
            }
        }
    }

    @Test func `a limit that passes while a person is asked blames the pairing, not the peripheral`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers(after: .seconds(9), on: bench.time)) { link in
                async let other = bleError {
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await link.read(Vault.open, timeout: .seconds(1))
                }
                let own = await bleError { _ = try await link.read(Vault.secret, timeout: .seconds(3)) }
                for error in [own, await other] {
                    #expect(error?.code == .timedOut && error?.operation == "read")
                    #expect(error?.cause.contains("pairing, did not end") == true, "\(error as Any)")
                    #expect(error?.remedy.contains("questions of the pairing") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func `a stream that is left in the middle has nothing raised`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            try await bench.peripheral.withLink(pairing: person.answers(after: .seconds(9), on: bench.time)) { link in
                let beats = link.notifications(of: Vault.secret)
                await #expect(throws: BLEError.self) { try await beats.timeout(.seconds(2)).first() }
                let value = try await link.read(Vault.open)
                #expect(value.bytes == [44] && bench.time.now < .seconds(6))
                #expect(!bench.peripheral.isBonded && person.asked == 1)
            }
        }
    }

    @Test func `closing the link ends it, and the answers end with it`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let hasEnded = Mutex(false)
            let answers = PairingAnswers(passkey: {
                try? await bench.time.sleep(for: .seconds(3600))
                hasEnded.withLock { $0 = true }
                return nil
            })
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await bench.peripheral.withLink(pairing: answers) { link in
                    group.addTask {
                        let error = await bleError { _ = try await link.read(Vault.secret) }
                        #expect(error?.code == .disconnected)
                    }
                    try await bench.time.sleep(for: .seconds(2))
                }
                #expect(hasEnded.withLock { $0 } && bench.time.now < .seconds(10))
                try await group.waitForAll()
            }
        }
    }

    @Test func `two peripherals are raised at the same time`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let other = bench.air.adapter(settings: AdapterSettings(pairing: .showsPasskey(111_111)))
            let steps = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Vault.vault.run(on: other) { for try await _ in $0.centralEvents {} } }
                try await withThrowingTaskGroup(of: [UInt8].self) { reads in
                    for (address, passkey) in [
                        (bench.peripheralAdapter.address, Vault.passkey), (other.address, 111_111),
                    ] {
                        let peripheral = bench.central.peripheral(address)
                        let answers = PairingAnswers(passkey: {
                            steps.add("asked")
                            try? await bench.time.sleep(for: .seconds(5))
                            steps.add("answered")
                            return passkey
                        })
                        reads.addTask {
                            let value = try await peripheral.withLink(pairing: answers) {
                                try await $0.read(Vault.secret)
                            }
                            return Array(value.bytes)
                        }
                    }
                    for try await value in reads { #expect(value == [42]) }
                }
                #expect(steps.all == ["asked", "asked", "answered", "answered"])
                group.cancelAll()
            }
        }
    }

    @Test func `joined adapters raise the link of the one that has it`() async throws {
        try await Vault.withVault { bench in
            let second = bench.air.adapter()
            let central = try await Central.open(
                .joined([.radio(bench.centralAdapter), .radio(second)]),
                pairing: .passkey(Vault.passkey)
            )
            let vault = central.peripheral(bench.peripheralAdapter.address)
            try await vault.withLink { link in
                let value = try await link.read(Vault.secret)
                #expect(value.bytes == [42] && link.security.level == .encrypted)
                bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
                let guarded = try await link.read(Vault.guarded)
                #expect(guarded.bytes == [43] && link.security.isAuthenticated)
            }
        }
    }
}
