import BLESimulator
import Testing

@testable import BLEStreams

/// Peripherals that are not what the plan wants: each ends in failed with its cause, and reset brings it back.
@Suite(.timeLimit(.minutes(10))) struct SessionFailureTests {
    private static let service = BluetoothUUID(0xA000)

    private static func plan(_ characteristic: BluetoothUUID = Bench.notifying) -> Session.Plan {
        var plan = Session.Plan(finding: .service(service)).subscribing(to: characteristic)
        plan.limits.search = .seconds(20)
        plan.reconnecting = .exponential(attempts: 2)
        return plan
    }

    /// Waits for the failure, cures its cause, resets, and expects the session to be ready.
    private static func failsAndRecovers(
        _ bench: Bench,
        _ plan: Session.Plan,
        initialise: @escaping @Sendable (Link) async throws -> Void = { _ in },
        cure: @Sendable () async throws -> Void
    ) async throws -> BLEError? {
        try await bench.central.withSession(plan, initialise: initialise) { session in
            let stream = await bleError { for try await _ in session.values {} }
            guard case .failed(let error) = session.state else {
                Issue.record("\(session.state)")
                return nil
            }
            #expect(stream?.description == error.description)
            let operation = await bleError { _ = try await session.read(Bench.readable) }
            #expect(operation?.code == error.code)
            #expect(throws: SessionState.IllegalTrigger.self) { try session.board.handle(.connect) }
            try await cure()
            try session.reset()
            #expect(session.state.kind == .initial)
            try await session.ready(timeout: .seconds(60))
            #expect(throws: SessionState.IllegalTrigger.self) { try session.reset() }
            return error
        }
    }

    @Test func `a plan that leaves the discovery to its streams still has what it requires discovered`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.discovers = false
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                _ = try await session.notifications(of: Bench.notifying).first()
            }
            plan.subscriptions = []
            plan.requiredServices = [BluetoothUUID(0xB000)]
            try await bench.central.withSession(plan) { session in
                #expect(await bleError { try await session.ready() }?.code == .notFound)
            }
        }
    }

    @Test func `one that never appears`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            bench.air.faults.add(.outOfRange(lasting: .seconds(100)), on: bench.peripheralAdapter)
            let error = try await Self.failsAndRecovers(bench, Self.plan()) {
                try await bench.time.sleep(for: .seconds(100))
            }
            #expect(error?.code == .timedOut && error?.operation == "scan" && error?.elapsed == .seconds(20))
            #expect(error?.object.contains("service \(Self.service)") == true, "\(error?.description ?? "")")
        }
    }

    @Test func `one that appears and refuses`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let fault = bench.air.faults.add(.refuseConnections(1000))
            let error = try await Self.failsAndRecovers(bench, Self.plan()) { bench.air.faults.remove(fault) }
            #expect(error?.code == .connectionFailed && error?.reason?.kind == .failedToEstablish)
        }
    }

    @Test func `one that appears and never answers`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let fault = bench.air.faults.add(.ignoreConnections)
            let error = try await Self.failsAndRecovers(bench, Self.plan()) { bench.air.faults.remove(fault) }
            #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(30))
        }
    }

    @Test func `one that accepts and drops the link during discovery`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let isDiscovery = PDUFilter.opcode(0x10)
            let faults = (0..<3).map { _ in bench.air.faults.add(.dropLink(insteadOf: isDiscovery)) }
            let error = try await Self.failsAndRecovers(bench, Self.plan()) {
                #expect(faults.map { bench.air.faults.strikes(of: $0) } == [1, 1, 1])
            }
            #expect(error?.code == .disconnected && error?.reason?.kind == .supervisionTimeout)
        }
    }

    @Test func `one that lacks a service`() async throws {
        try await Bench.run { bench in
            var plan = Self.plan()
            plan.requiredServices = [.heartRate]
            try await bench.central.withSession(plan) { session in
                let error = await bleError { for try await _ in session.values {} }
                #expect(error?.code == .notFound && error?.object.contains("\(BluetoothUUID.heartRate)") == true)
                #expect(session.state.kind == .failed)
            }
        }
    }

    @Test func `one that lacks the characteristic, until it has it`() async throws {
        let lacking = LocalPeripheral(name: "Bench") {
            LocalService(Self.service) { LocalCharacteristic(Bench.readable, [.read], value: .stored([1])) }
        }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await bench.time.sleep(for: .seconds(60))
            try server.replaceServices(Bench.description.services)
            for try await _ in server.centralEvents {}
        }
        try await Bench.run(description: lacking, serve: serve) { bench in
            let error = try await Self.failsAndRecovers(bench, Self.plan()) {
                try await bench.time.sleep(for: .seconds(100))
            }
            #expect(error?.code == .notFound && error?.object.contains("\(Bench.notifying)") == true)
        }
    }

    @Test func `one that has the characteristic without notify`() async throws {
        let lacking = LocalPeripheral(name: "Bench") {
            LocalService(Self.service) {
                LocalCharacteristic(Bench.notifying, [.read], value: .stored([1]))
                LocalCharacteristic(Bench.readable, [.read], value: .stored([1]))
            }
        }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await bench.time.sleep(for: .seconds(60))
            try server.replaceServices(Bench.description.services)
            for try await _ in server.centralEvents {}
        }
        try await Bench.run(description: lacking, serve: serve) { bench in
            let error = try await Self.failsAndRecovers(bench, Self.plan()) {
                try await bench.time.sleep(for: .seconds(100))
            }
            #expect(error?.code == .notSupported)
        }
    }

    @Test func `a program whose first steps fail, or never end`() async throws {
        struct Refused: Error {
            let password = "nobody's business"
        }
        for isEndless in [false, true] {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                let isCured = Flag()
                let error = try await Self.failsAndRecovers(
                    bench,
                    Self.plan(),
                    initialise: { _ in
                        if isCured.isSet { return }
                        if isEndless { try await bench.time.sleep(for: .seconds(86_000)) }
                        throw Refused()
                    },
                    cure: { isCured.set() }
                )
                #expect(error?.operation == "initialise" && error?.code == (isEndless ? .timedOut : .ended))
                guard !isEndless else { return }
                #expect(error?.cause.contains("Refused") == true && error?.cause.contains("business") == false)
            }
        }
    }

    @Test func `first steps that don't notice the end of their link are ended by it, and taken on the next one`()
        async throws
    {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.limits.initialise = .seconds(3600)
            let begun = Recorder<Bool>()
            let initialise: @Sendable (Link) async throws -> Void = { _ in
                begun.add(true)
                // A person is asked, for example.
                if begun.all.count == 1 { try await bench.time.sleep(for: .seconds(3000)) }
            }
            try await bench.central.withSession(plan, initialise: initialise) { session in
                while begun.all.isEmpty { try await bench.time.sleep(for: .milliseconds(10)) }
                bench.air.faults.add(.dropLink(after: Duration.zero))
                let lost = try await session.states.first { $0.state.kind == .waitingToReconnect }
                #expect(lost.cause?.trigger.kind == .linkLost)
                try await session.ready(timeout: .seconds(60))
                #expect(begun.all.count == 2)
            }
        }
    }

    @Test func `first steps that fail because another link has ended don't pass for a lost link`() async throws {
        try await Bench.run { bench in
            let other = try await bench.peripheral.withLink { $0 }
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = nil
            let initialise: @Sendable (Link) async throws -> Void = { _ in _ = try await other.read(Bench.readable) }
            try await bench.central.withSession(plan, initialise: initialise) { session in
                let error = await bleError { try await session.ready() }
                #expect(error?.code == .disconnected && error?.operation == "read", "\(error?.description ?? "")")
                let failure = try await session.states.first { $0.state.kind == .failed }
                #expect(failure.cause?.trigger.kind == .initialisationFailed)
            }
        }
    }

    @Test(arguments: [false, true])
    func `first steps that fail for want of an adapter tell its own loss, even if the news comes late, from another's`(
        isOwn: Bool
    ) async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = nil
            let begun = Flag()
            let initialise: @Sendable (Link) async throws -> Void = { _ in
                begun.set()
                throw BLEError(.adapterPoweredOff, operation: "scan", cause: "the test says so")
            }
            try await bench.central.withSession(plan, initialise: initialise) { session in
                if isOwn {
                    while !begun.isSet { try await bench.time.sleep(for: .milliseconds(10)) }
                    bench.centralAdapter.powerOff()
                }
                let failure = try await session.states.first { $0.state.kind == .failed }
                #expect(failure.cause?.trigger.kind == (isOwn ? .adapterLost : .initialisationFailed))
            }
        }
    }

    @Test func `a link that is lost is a failure where nobody wants to reconnect`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Self.plan()
            plan.reconnecting = nil
            bench.air.faults.add(.dropLink(after: 3, .notifications))
            let error = try await Self.failsAndRecovers(bench, plan) {}
            #expect(error?.code == .disconnected && error?.reason?.kind == .supervisionTimeout)
        }
    }

    @Test(arguments: [false, true])
    func `a lost link and a lost adapter are told with the name of the peripheral`(isAdapter: Bool) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let name = "\(bench.peripheral)"
            for reconnecting in [nil, RetryPolicy.exponential()] {
                var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                plan.reconnecting = reconnecting
                try await bench.central.withSession(plan) { session in
                    try await session.ready()
                    var values = session.notifications(of: Bench.notifying).withGaps().makeAsyncIterator()
                    _ = try await values.next()
                    if isAdapter {
                        bench.centralAdapter.powerOff()
                    } else {
                        bench.air.faults.add(.dropLink(after: Duration.zero))
                    }
                    let change = try await session.states.first { $0.cause?.error != nil }
                    #expect(change.cause?.error?.object.contains(name) == true, "\(change)")
                    if reconnecting == nil {
                        guard case .failed(let error) = session.state else {
                            Issue.record("\(session.state)")
                            return
                        }
                        let thrown = await bleError { for try await _ in session.values {} }
                        #expect(error.object.contains(name) && thrown?.object == error.object, "\(error)")
                        bench.centralAdapter.powerOn()
                        return
                    }
                    bench.centralAdapter.powerOn()
                    while let item = try await values.next() {
                        guard case .gap(let gap) = item else { continue }
                        #expect((gap.reason as? BLEError)?.object.contains(name) == true, "\(gap)")
                        return
                    }
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `whoever waits for a turn is told of the failure, also if an operation keeps its turn`(
        isCommand: Bool
    ) async throws {
        try await Bench.run { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // Whatever becomes of its link.
                        try await session.withLink(for: .read, timeout: nil) { _ in
                            try await bench.time.sleep(for: .seconds(600))
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    group.addTask {
                        let error = await bleError {
                            if isCommand {
                                try await session.queue.run(.read(Bench.readable), deadline: .seconds(60))
                            } else {
                                _ = try await session.read(Bench.readable, timeout: .seconds(60))
                            }
                        }
                        #expect(error?.code == .disconnected, "\(error as Any)")
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    bench.air.faults.add(.dropLink(after: Duration.zero))
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }
}
