import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// What flows hear.
@Suite(.timeLimit(.minutes(10))) struct FlowEventTests {
    /// Does the closure's work, then writes down each event until so many have come.
    struct Hearing: Command {
        let heard: Recorder<String>
        let count: Int
        let begin: @Sendable (CommandContext) async throws -> Void

        func run(in context: CommandContext) async throws {
            try await begin(context)
            while heard.all.count < count { heard.add(Self.words(try await context.next())) }
        }

        static func words(_ event: CommandContext.Event) -> String {
            switch event {
            case .scanStarted: "scan started"
            case .discovered(let discovery): "discovered \(discovery.name ?? "")"
            case .scanStopped: "scan stopped"
            case .connected: "connected"
            case .readyToWrite: "ready to write"
            case .received(let value, _): "received \(value[0])"
            case .linkLost(let error): error.reason?.kind == .supervisionTimeout ? "link lost" : "link lost: \(error)"
            case .adapterOff: "adapter off"
            case .adapterOn: "adapter on"
            }
        }
    }

    @Test func `a flow hears all that it is to hear, in order`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            bench.air.faults.add(.dropLink(after: 3, .notifications))
            let heard = Recorder<String>()
            let flow = Hearing(heard: heard, count: 11) { context in
                let found = try await context.find(within: .seconds(10))
                #expect(found.name == "Bench")
                try await context.reconnect()
                try await context.subscribe(to: Bench.notifying)
            }
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.run(flow) }
                    try await bench.time.sleep(for: .seconds(10))
                    bench.centralAdapter.powerOff()
                    try await bench.time.sleep(for: .seconds(1))
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
            }
            #expect(
                heard.all == [
                    "scan started", "discovered Bench", "scan stopped", "connected", "ready to write", "received 0",
                    "received 1", "received 2", "link lost", "adapter off", "adapter on",
                ]
            )
        }
    }

    @Test func `a flow that doesn't hear its device in time is told what may keep it from that`() async throws {
        try await Bench.run { bench in
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0_0000_0000_09, kind: .random))
            let error = await bleError {
                try await absent.withQueue { queue in
                    try await queue.run(
                        Hearing(heard: Recorder(), count: 0) { _ = try await $0.find(within: .seconds(10)) }
                    )
                }
            }
            #expect(error?.code == .timedOut && error?.elapsed == .seconds(10))
            #expect(error?.cause == "no value came within 10.0 seconds", "\(error as Any)")
            #expect(error?.remedy.contains("advertising") == true, "\(error as Any)")
        }
    }

    @Test func `a link of the queue is heard of at the beginning, and scans are heard whoever scans`() async throws {
        try await Bench.run(centrals: 2) { bench in
            let heard = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.connecting().run(Hearing(heard: heard, count: 8) { _ in }) }
                    try await bench.time.sleep(for: .seconds(5))
                    for _ in 0..<2 {
                        // Each device once for each scan, however often it is heard.
                        _ = try await bench.central.scan(duplicates: true).prefix(3).collect()
                        try await bench.time.sleep(for: .seconds(1))
                    }
                    try await group.waitForAll()
                }
            }
            let scan = ["scan started", "discovered Bench", "scan stopped"]
            #expect(heard.all == ["connected", "ready to write"] + scan + scan)
        }
    }

    /// What is left when the device has ended its subscriptions.
    private static let without = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4]))
    }

    @Test func `a flow whose subscription the device ends is told why, once`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.without])) { bench in
            let flow = CommandBlock<Void>("listen") { context in
                try await context.subscribe(to: Bench.notifying)
                let (first, _) = try await context.value()
                try await context.write([0xFF], to: Bench.readable)
                try await bench.time.sleep(for: .seconds(10))
                #expect(Array(first) == [1] && context.available() == nil)
                #expect(await bleError { _ = try await context.value() }?.code == .servicesChanged)
                // The link is up, and other values may come.
                #expect(await bleError { _ = try await context.value(timeout: .seconds(10)) }?.code == .timedOut)
                #expect(Array(try await context.read(Bench.readable)) == [4])
                // One that can't be made tells only its caller.
                #expect(await bleError { try await context.subscribe(to: Bench.notifying) }?.code == .notFound)
                #expect(await bleError { _ = try await context.value(timeout: .seconds(10)) }?.code == .timedOut)
            }
            try await bench.peripheral.withQueue { try await $0.connecting().run(flow) }
        }
    }

    @Test func `a flow that has unsubscribed isn't told any more that the device had ended the subscription`()
        async throws
    {
        try await Bench.run(serve: Bench.changing(to: [Self.without])) { bench in
            let flow = CommandBlock<Void>("listen") { context in
                try await context.subscribe(to: Bench.notifying)
                try await context.subscribe(to: Bench.counter)
                _ = try await context.value()
                try await context.write([0xFF], to: Bench.readable)
                try await bench.time.sleep(for: .seconds(10))
                context.unsubscribe(from: Bench.notifying)
                // That of the other one is told still.
                #expect(await bleError { _ = try await context.value(timeout: .seconds(10)) }?.code == .servicesChanged)
                #expect(await bleError { _ = try await context.value(timeout: .seconds(10)) }?.code == .timedOut)
            }
            try await bench.peripheral.withQueue { try await $0.connecting().run(flow) }
        }
    }

    @Test func `a wait for a value ends in time, whatever else is heard meanwhile`() async throws {
        try await Bench.run(centrals: 2) { bench in
            let flow = CommandBlock<Duration>("wait") { context in
                context.begin("measure")
                try await context.subscribe(to: Bench.notifying)
                let before = bench.time.now
                let error = await bleError { _ = try await context.value(timeout: .seconds(10)) }
                #expect(error?.code == .timedOut && error?.operation == "measure" && error?.elapsed == .seconds(10))
                return bench.time.now - before
            }
            try await bench.peripheral.withQueue { queue in
                async let waited = queue.connecting().run(flow)
                // The flow hears that each scan begins and ends.
                for _ in 0..<10 {
                    _ = try await bench.central.scan(duplicates: true).prefix(3).collect()
                    try await bench.time.sleep(for: .seconds(4))
                }
                let time = try await waited
                #expect(time == .seconds(10))
            }
        }
    }

    @Test func `two subscriptions of one name that are made at the same time give each value once`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let flow = CommandBlock<[UInt32]>("hear") { context in
                async let one: Void = context.subscribe(to: Bench.notifying)
                async let other: Void = context.subscribe(to: Bench.notifying)
                _ = try await (one, other)
                var numbers: [UInt32] = []
                while numbers.count < 6 {
                    numbers.append(UInt32(octets: try await context.value(timeout: .seconds(10)).value))
                }
                return numbers
            }
            try await bench.peripheral.withQueue { queue in
                let numbers = try await queue.connecting().run(flow)
                #expect(numbers == Array(numbers[0]..<numbers[0] + 6))
            }
        }
    }

    @Test func `the errors of a command without phases have its name`() async throws {
        try await Bench.run { bench in
            let errors = Recorder<BLEError>()
            let flow = CommandBlock<Void>("measure") { context in
                try await context.subscribe(to: Bench.notifying)
                for limit in [5, 60] {
                    let error = await bleError { _ = try await context.value(timeout: .seconds(limit)) }
                    if let error { errors.add(error) }
                    if limit == 5 { bench.air.faults.add(.dropLink(after: Duration.zero)) }
                }
            }
            try await bench.peripheral.withQueue { try await $0.connecting().run(flow) }
            try await bench.peripheral.withLink { try await $0.run(flow) }
            #expect(errors.all.map(\.code) == [.timedOut, .disconnected, .timedOut, .disconnected])
            #expect(errors.all.allSatisfy { $0.operation == "measure" }, "\(errors.all)")
        }
    }

    @Test func `a flow is ready to write when the new link is authorized`() async throws {
        try await Bench.run(serve: DecoratorTests.guarded) { bench in
            let heard = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing {
                    try await bench.time.sleep(for: .seconds(1))
                    heard.add("authorized")
                    try await $0.write(DecoratorTests.key, to: Bench.dynamic)
                }
                try await queue.run(Hearing(heard: heard, count: 3) { try await $0.reconnect() })
            }
            #expect(heard.all == ["authorized", "connected", "ready to write"])
        }
    }

    @Test func `a flow whose place was taken hears nothing more, of whatever kind`() async throws {
        /// Goes on listening for ten seconds after it was replaced.
        struct Stubborn: Command {
            let heard: Recorder<String>
            let stage: Stage

            func run(in context: CommandContext) async throws {
                try await context.subscribe(to: Bench.notifying)
                do {
                    while true { heard.add(Hearing.words(try await context.next())) }
                } catch {
                    heard.add("replaced")
                    for _ in 0..<10 {
                        await stage.work(for: 1)
                        while let event = context.available() { heard.add(Hearing.words(event)) }
                    }
                    throw error
                }
            }
        }
        try await Bench.run(centrals: 2, serve: Bench.sendForEver) { bench in
            let (first, second) = (Recorder<String>(), Recorder<String>())
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let flow = Stubborn(heard: first, stage: Stage(bench.time))
                        #expect(await bleError { try await flows.run(flow, replacing: .activeFlow) }?.code == .ended)
                    }
                    try await bench.time.sleep(for: .seconds(4))
                    group.addTask {
                        try await flows.run(
                            Hearing(heard: second, count: 2) { try await $0.reconnect() },
                            replacing: .activeFlow
                        )
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await bench.central.scan().first()
                    bench.centralAdapter.powerOff()
                    try await bench.time.sleep(for: .seconds(2))
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
            }
            #expect(first.all.last == "replaced" && first.all.filter { $0.hasPrefix("received") }.count > 1)
            #expect(second.all == ["connected", "ready to write"])
        }
    }

    // MARK: - The adapter

    /// Reads, on a new link wherever the link is lost.
    struct Reading: Command {
        let heard: Recorder<String>
        var limit = Duration.seconds(600)

        func run(in context: CommandContext) async throws {
            try await context.resuming(adapterWithin: limit) {
                heard.add("\(try await context.read(Bench.counter)[0])")
                while heard.all.count < 2 {
                    if case .linkLost(let error) = try await context.next(timeout: .seconds(600)) { throw error }
                }
            }
        }
    }

    @Test func `a flow that resumes waits for the adapter, and goes on`() async throws {
        try await Bench.run { bench in
            let heard = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await queue.connecting(timeout: .seconds(5)).run(Reading(heard: heard)) }
                    try await bench.time.sleep(for: .seconds(5))
                    bench.centralAdapter.powerOff()
                    // Far longer than all attempts of a policy, and than the time limit of connecting.
                    try await bench.time.sleep(for: .seconds(300))
                    #expect(heard.all.count == 1)
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
            }
            #expect(heard.all == ["9", "9"])
        }
    }

    @Test func `the limit for the adapter ends the flow with the adapter's error, and cancellation at once`()
        async throws
    {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.run(.connect)
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(1))
                let before = bench.time.now
                let error = await bleError {
                    try await queue.run(Reading(heard: Recorder(), limit: .seconds(20)))
                }
                #expect(error?.code == .adapterPoweredOff && error?.remedy.isEmpty == false)
                #expect(bench.time.now - before == .seconds(20))
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            try await queue.run(Reading(heard: Recorder()))
                        }
                    }
                    try? await bench.time.sleep(for: .seconds(50))
                    group.cancelAll()
                }
                #expect(bench.time.now - before == .seconds(70))
            }
        }
    }

    @Test func `a flow on a link of somebody else's says where it could go on`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                let error = await bleError { try await link.run(Reading(heard: Recorder())) }
                #expect(error?.code == .disconnected && error?.remedy.contains("session.queue") == true)
            }
        }
    }
}
