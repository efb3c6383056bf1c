import BLESimulator
import Testing

@testable import BLEStreams

/// Flows whose link can't be made or authorized, for want of their own adapter or of another one.
@Suite(.timeLimit(.minutes(10))) struct OtherAdapterTests {
    /// What an operation on an adapter fails with that is off.
    private static let failure = BLEError(.adapterPoweredOff, operation: "scan", cause: "the test says so")

    private static func reconnecting(_ policy: RetryPolicy) -> CommandBlock<Void> {
        CommandBlock<Void>("flow") { try await $0.reconnect(policy) }
    }

    @Test func `an authorizing that fails for want of another adapter is tried again like one that fails otherwise`()
        async throws
    {
        try await Bench.run { bench in
            let attempts = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing { _ in
                    attempts.add(bench.time.now)
                    if attempts.all.count < 3 { throw Self.failure }
                }
                try await queue.run(Self.reconnecting(.constant(.seconds(1), attempts: 5)))
            }
            #expect(attempts.all.count == 3)
        }
    }

    @Test func `an authorizing that fails for want of another adapter fails in the end, with that error`() async throws
    {
        try await Bench.run { bench in
            let attempts = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing { _ in
                    attempts.add(bench.time.now)
                    throw Self.failure
                }
                let error = await bleError {
                    try await queue.run(Self.reconnecting(.constant(.seconds(1), attempts: 2)))
                }
                #expect(error?.code == .adapterPoweredOff && error?.cause == "the test says so")
            }
            #expect(attempts.all.count == 3)
        }
    }

    @Test func `its own adapter that is lost while the link is authorized is waited for`() async throws {
        try await Bench.run { bench in
            let attempts = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing { link in
                    attempts.add(bench.time.now)
                    if attempts.all.count == 1 { bench.centralAdapter.powerOff() }
                    _ = try await link.read(Bench.readable)
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.run(Self.reconnecting(.constant(.seconds(1), attempts: 2))) }
                    // Far longer than all attempts of the policy.
                    try await bench.time.sleep(for: .seconds(300))
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
            }
            #expect(attempts.all.count == 2)
        }
    }

    /// Reads the protected value in a flow that resumes. The adapter is switched off while the first pairing asks for
    /// the passkey, and on again behind all attempts of the policy.
    private static func readWithoutAdapter(
        _ bench: Bench,
        _ run: @escaping @Sendable (CommandBlock<Void>) async throws -> Void
    ) async throws {
        let (questions, attempts) = (Recorder<Duration>(), Recorder<Duration>())
        let answers = PairingAnswers(passkey: {
            questions.add(bench.time.now)
            if questions.all.count == 1 { bench.centralAdapter.powerOff() }
            return SecurityOnDemandTests.passkey
        })
        bench.peripheral.allowPairing(answers)
        let flow = CommandBlock<Void>("flow") { context in
            try await context.resuming(.constant(.seconds(1), attempts: 2)) {
                attempts.add(bench.time.now)
                let value = try await context.read(SecurityOnDemandTests.secret)
                #expect(value.bytes == [42])
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await run(flow) }
            try await bench.time.sleep(for: .seconds(300))
            bench.centralAdapter.powerOn()
            try await group.waitForAll()
        }
        #expect(questions.all.count == 2 && attempts.all.count == 2)
    }

    @Test(arguments: [false, true])
    func `its own adapter that is lost while a request has the devices paired is waited for, too`(
        isSession: Bool
    ) async throws {
        let manner = PairingManner.showsPasskey(SecurityOnDemandTests.passkey)
        try await SecurityOnDemandTests.withVault(manner: manner) { bench in
            try await Self.readWithoutAdapter(bench) { flow in
                if isSession {
                    try await bench.central.withSession(Session.Plan(bench.peripheral)) { try await $0.queue.run(flow) }
                } else {
                    try await bench.peripheral.withQueue { try await $0.run(flow) }
                }
            }
        }
    }

    @Test func `the error of another adapter ends a flow at once that resumes, while its own link is up`() async throws
    {
        try await Bench.run { bench in
            let attempts = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let flow = CommandBlock<Void>("flow") { context in
                    try await context.resuming(.constant(.seconds(1), attempts: 2)) {
                        attempts.add(bench.time.now)
                        throw Self.failure
                    }
                }
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .adapterPoweredOff && error?.cause == "the test says so")
            }
            #expect(attempts.all.count == 1)
        }
    }

    @Test func `one of joined adapters that is lost during a pairing is left, and another one's error ends the flow`()
        async throws
    {
        try await JoinedSite.run { site in
            let peripheral = site.peripherals[0]
            for (lost, expected) in [(1, 1), (0, 2)] {
                let attempts = Recorder<Duration>()
                let flow = CommandBlock<Void>("flow") { context in
                    try await context.resuming(.constant(.seconds(1), attempts: 2)) {
                        attempts.add(site.time.now)
                        guard attempts.all.count == 1 else { return }
                        // As a pairing's failure, which may come before the end of the link.
                        site.adapters[lost].powerOff()
                        throw Self.failure
                    }
                }
                do {
                    try await peripheral.withQueue { try await $0.run(flow) }
                    #expect(lost == 0)
                } catch let error as BLEError {
                    #expect(lost == 1 && error.cause == "the test says so")
                }
                #expect(attempts.all.count == expected)
                for adapter in site.adapters { adapter.powerOn() }
            }
        }
    }

    @Test func `a flow ends whose own wait for the adapter has ended in vain`() async throws {
        try await Bench.run { bench in
            let (attempts, begin) = (Recorder<Duration>(), bench.time.now)
            try await bench.peripheral.withQueue { queue in
                let flow = CommandBlock<Void>("flow") { context in
                    try await context.resuming(.constant(.seconds(1), attempts: 2)) {
                        attempts.add(bench.time.now)
                        bench.centralAdapter.powerOff()
                        _ = try? await context.read(Bench.readable)
                        try await context.reconnect(.constant(.seconds(1), attempts: 2), adapterWithin: .seconds(60))
                    }
                }
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .adapterPoweredOff)
            }
            #expect(attempts.all.count == 1 && bench.time.now - begin < .seconds(65))
        }
    }

    @Test func `a flow goes on in a session that fails for want of another adapter, and is reset`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = .constant(.milliseconds(100), attempts: 1)
            let (starts, isCured) = (Recorder<Duration>(), Flag())
            let initialise: @Sendable (Link) async throws -> Void = { _ in
                starts.add(bench.time.now)
                if starts.all.count > 1, !isCured.isSet { throw Self.failure }
            }
            try await bench.central.withSession(plan, initialise: initialise) { session in
                let flow = CommandBlock<Void>("flow") { context in
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    _ = try? await context.read(Bench.readable)
                    try await context.reconnect(.constant(.seconds(1), attempts: 10))
                    let value = try await context.read(Bench.readable)
                    #expect(value.bytes == [1, 2, 3])
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await session.queue.run(flow) }
                    let failure = try await session.states.first { $0.state.kind == .failed }
                    #expect(failure.cause?.trigger.kind == .initialisationFailed)
                    isCured.set()
                    try session.reset()
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a flow ends with a session that fails because its own adapter is lost`() async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in
                let begin = Recorder<Duration>()
                let flow = CommandBlock<Void>("flow") { context in
                    begin.add(bench.time.now)
                    bench.centralAdapter.powerOff()
                    _ = try? await context.read(Bench.readable)
                    try await context.reconnect(.constant(.seconds(60), attempts: 10))
                }
                let error = await bleError { try await session.queue.run(flow) }
                #expect(error?.code == .adapterPoweredOff, "\(error?.description ?? "")")
                let length = begin.all.first.map { bench.time.now - $0 }
                #expect(length.map { $0 < .seconds(60) } == true)
            }
        }
    }
}
