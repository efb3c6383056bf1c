import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A peripheral that lives longer than what its radio does for it.
@Suite(.timeLimit(.minutes(10))) struct ResumingTests {
    private static let temperature = BluetoothUUID.Characteristics.temperature
    private static let taken = BLEError(.busy, operation: "advertise", object: "hci7", cause: "taken away")

    private static func thermometer(_ policy: RetryPolicy = .exponential(jitter: 0)) -> LocalPeripheral {
        var peripheral = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(temperature, [.read, .notify], value: .stored([1]))
            }
        }
        peripheral.resuming = policy
        return peripheral
    }

    /// Where a peripheral is served, and what is seen of it.
    private struct Scene: Sendable {
        let time: VirtualTime
        let air: SimulatedAir
        let adapter: SimulatedAdapter
        let puppet: PuppetRadio
        let states = Recorder<String>()
        let times = Recorder<Duration>()
        let warnings = Recorder<BLEError>()

        init(_ time: VirtualTime) {
            self.time = time
            air = SimulatedAir(time)
            adapter = air.adapter(name: "hci7")
            puppet = PuppetRadio(adapter)
        }

        func note(_ state: PeripheralServer.ServingState) {
            times.add(time.now)
            if case .interrupted(let error) = state {
                states.add("\(error.code)")
            } else {
                states.add("\(state)")
            }
        }

        /// Serves while the closure runs, which begins when it is served; what it has ended with.
        func serve(
            _ peripheral: LocalPeripheral = thermometer(),
            _ body: @escaping @Sendable (PeripheralServer) async throws -> Void
        ) async throws -> BLEError? {
            do {
                let warn: PeerStore.Warning = { warnings.add($0) }
                try await peripheral.run(on: puppet, warning: warn) { server in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { for try await state in server.states { note(state) } }
                        try await time.sleep(for: .seconds(1))
                        try await body(server)
                        try await time.sleep(for: .seconds(1))
                        group.cancelAll()
                    }
                }
                return nil
            } catch let error as BLEError {
                return error
            }
        }
    }

    private func scene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        try await VirtualTime.run { time in
            let scene = Scene(time)
            try await body(scene)
            #expect(scene.adapter.activity.isIdle)
        }
    }

    @Test func `an adapter that goes off is waited for, and served on when it is on`() async throws {
        try await scene { scene in
            let error = try await scene.serve { _ in
                scene.adapter.powerOff()
                try await scene.time.sleep(for: .seconds(3600))
                scene.adapter.powerOn()
            }
            #expect(error == nil)
            #expect(scene.states.all == ["serving", "adapterPoweredOff", "starting", "serving"])
            #expect(scene.times.all == [.zero, .seconds(1), .seconds(3601), .seconds(3601)])
            #expect(scene.warnings.all.map(\.code) == [.adapterPoweredOff])
        }
    }

    @Test func `one that is off at first is waited for, and the closure begins behind that`() async throws {
        try await scene { scene in
            scene.adapter.unplug()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = try await scene.serve { _ in }
                    #expect(error == nil)
                    #expect(scene.time.now == .seconds(62))
                }
                try await scene.time.sleep(for: .seconds(60))
                scene.adapter.plugIn()
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: [true, false])
    func `an adapter to choose that is not there yet is waited for, if it is to be resumed`(
        resumes: Bool
    ) async throws {
        try await scene { scene in
            scene.adapter.unplug()
            let none = BLEError(.adapterNotFound, operation: "open", object: "the default adapter", cause: "none")
            // As the machine's default adapter, of which there is none to open yet.
            let choice = AdapterChoice(
                isOfThisMachine: false,
                awaitRadio: { scene.puppet },
                makeRadio: { throw none }
            )
            var peripheral = Self.thermometer()
            if !resumes { peripheral.resuming = nil }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [peripheral] in
                    do {
                        let warn: PeerStore.Warning = { scene.warnings.add($0) }
                        try await peripheral.run(on: choice, warning: warn) { _ in scene.times.add(scene.time.now) }
                    } catch let error as BLEError where !resumes && error.code == .adapterNotFound {
                        #expect(scene.time.now == .zero)
                    }
                }
                try await scene.time.sleep(for: .seconds(60))
                scene.adapter.plugIn()
                try await group.waitForAll()
            }
            let times: [Duration] = resumes ? [.seconds(60)] : []
            let warnings: [BLEError.Code] = resumes ? [.adapterNotFound] : []
            #expect(scene.times.all == times && scene.warnings.all.map(\.code) == warnings)
        }
    }

    @Test(arguments: [AdapterInfo.State.unauthorized, .unsupported])
    func `an adapter that waiting doesn't help is an error at once, and no interruption`(
        _ state: AdapterInfo.State
    ) async throws {
        try await scene { scene in
            scene.adapter.setState(state)
            let error = try await scene.serve { _ in }
            #expect(error?.code == state.error(operation: "serve")?.code && scene.time.now == .zero)
            #expect(scene.warnings.all.isEmpty)
        }
    }

    @Test func `off and on at once is an interruption too`() async throws {
        try await scene { scene in
            let error = try await scene.serve { server in
                scene.adapter.powerOff()
                scene.adapter.powerOn()
                try await scene.time.sleep(for: .seconds(10))
                #expect(scene.adapter.activity.advertisementCount == 1)
            }
            #expect(error == nil && scene.states.all.last == "serving")
            #expect(scene.states.all.filter { $0 == "adapterPoweredOff" }.count == 1)
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(500)])
    func `an adapter that is off again and again, however briefly, uses up no attempt`(_ break: Duration) async throws {
        try await scene { scene in
            let error = try await scene.serve(Self.thermometer(.exponential(attempts: 2))) { _ in
                for _ in 0..<5 {
                    scene.adapter.powerOff()
                    if `break` > .zero { try await scene.time.sleep(for: `break`) }
                    scene.adapter.powerOn()
                    try await scene.time.sleep(for: .seconds(5))
                }
            }
            #expect(error == nil, "\(String(describing: error))")
            #expect(scene.states.all.last == "serving")
            #expect(scene.states.all.filter { $0 == "adapterPoweredOff" }.count == 5)
        }
    }

    @Test func `what was taken away is put back, after pauses that grow until all has been well for a while`()
        async throws
    {
        try await scene { scene in
            let error = try await scene.serve { _ in
                for _ in 0..<3 {
                    scene.puppet.tellAdvertiser(.failed(Self.taken))
                    try await scene.time.sleep(for: .seconds(2))
                }
                try await scene.time.sleep(for: .seconds(10))
                scene.puppet.tellListener(.failed(Self.taken))
                try await scene.time.sleep(for: .seconds(2))
            }
            #expect(error == nil)
            let rounds = Array(repeating: ["busy", "starting", "serving"], count: 4).flatMap { $0 }
            #expect(scene.states.all.first == "serving" && scene.states.all.dropFirst().elementsEqual(rounds))
            let starts = zip(scene.states.all, scene.times.all).filter { $0.0 == "starting" }.map(\.1)
            let expected: [Duration] = [.seconds(1.25), .seconds(3.5), .seconds(6), .seconds(17.25)]
            #expect(starts == expected)
            #expect(scene.adapter.activity.isIdle)
        }
    }

    @Test func `a policy with an end throws what it was given up with, and ends the closure`() async throws {
        try await scene { scene in
            let error = try await scene.serve(Self.thermometer(.constant(.seconds(1), attempts: 2))) { _ in
                while true {
                    scene.puppet.tellAdvertiser(.failed(Self.taken))
                    try await scene.time.sleep(for: .seconds(3))
                }
            }
            #expect(error?.code == .busy && error?.cause == "taken away")
            #expect(scene.states.all.filter { $0 == "busy" }.count == 3)
            #expect(scene.time.now == .seconds(7))
        }
    }

    @Test func `what befalls a central is told, though there were interruptions before`() async throws {
        try await scene { scene in
            let given = BLEError(.busy, operation: "listen", object: "hci7", cause: "given to bluetoothd")
            let error = try await scene.serve { _ in
                for _ in 0..<2 {
                    scene.adapter.powerOff()
                    try await scene.time.sleep(for: .seconds(5))
                    scene.adapter.powerOn()
                    try await scene.time.sleep(for: .seconds(5))
                }
                scene.puppet.tellAdvertiser(.failed(Self.taken))
                try await scene.time.sleep(for: .seconds(5))
                scene.puppet.tellListener(.interrupted(given))
            }
            #expect(error == nil)
            // The second time that the adapter was off is no news.
            #expect(scene.warnings.all.map(\.code) == [.adapterPoweredOff, .busy, .busy])
            #expect(scene.warnings.all.last?.cause == given.cause)
        }
    }

    @Test func `what no attempt can mend ends it at once`() async throws {
        try await scene { scene in
            let refusal = BLEError(.permissionDenied, operation: "advertise", object: "hci7", cause: "no rights")
            let error = try await scene.serve { _ in
                scene.puppet.tellAdvertiser(.failed(refusal))
                try await scene.time.sleep(for: .seconds(60))
            }
            #expect(error?.code == .permissionDenied && scene.time.now == .seconds(1))
        }
    }

    @Test func `a closure that ends, or is cancelled, while the adapter is off takes all with it`() async throws {
        try await scene { scene in
            let error = try await scene.serve { server in
                scene.adapter.powerOff()
                try await scene.time.sleep(for: .seconds(1))
                try await server.notify([2], of: Self.temperature)
                if case .interrupted(let error) = server.state {
                    #expect(error.code == .adapterPoweredOff)
                } else {
                    Issue.record("\(server.state)")
                }
            }
            #expect(error == nil)
            scene.adapter.powerOn()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await Self.thermometer().run(on: scene.adapter)
                    }
                }
                try? await scene.time.sleep(for: .seconds(1))
                scene.adapter.powerOff()
                try? await scene.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
        }
    }

    @Test func `a link stays up where only the advertising was taken away`() async throws {
        try await scene { scene in
            let central = try await Central.open(.radio(scene.air.adapter()))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = try await scene.serve { _ in try await scene.time.sleep(for: .seconds(60)) }
                    #expect(error == nil)
                }
                try await scene.time.sleep(for: .seconds(2))
                try await central.peripheral(scene.adapter.address).withLink { link in
                    scene.puppet.tellAdvertiser(.failed(Self.taken))
                    try await scene.time.sleep(for: .seconds(5))
                    #expect(try await link.read(Self.temperature).bytes == [1])
                }
                #expect(scene.states.all == ["serving", "busy", "starting", "serving"])
                try await group.waitForAll()
            }
        }
    }

    @Test func `a session with it goes on behind each outage, and hears what is notified then`() async throws {
        try await scene { scene in
            let central = try await Central.open(.radio(scene.air.adapter()))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    _ = try await scene.serve { server in
                        for try await change in server.subscriptions(of: Self.temperature) where change.isSubscribed {
                            try await server.notify([UInt8(scene.states.all.count)], of: Self.temperature)
                        }
                    }
                }
                // The closure has begun by then.
                try await scene.time.sleep(for: .seconds(2))
                var plan = Session.Plan(scene.adapter.address).subscribing(to: Self.temperature)
                plan.reconnecting = .exponential(jitter: 0)
                try await central.withSession(plan) { session in
                    var values: [UInt8] = []
                    for try await value in session.notifications(of: Self.temperature).prefix(3) {
                        values += Array(value)
                        scene.adapter.powerOff()
                        try await scene.time.sleep(for: .seconds(5))
                        scene.adapter.powerOn()
                    }
                    #expect(values == [1, 4, 7])
                }
                group.cancelAll()
            }
        }
    }
}
