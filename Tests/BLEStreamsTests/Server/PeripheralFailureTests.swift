import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// What becomes of a peripheral that loses its radio while its program looks at no stream of the server: the README's
/// thermometer.
@Suite(.timeLimit(.minutes(10))) struct PeripheralFailureTests {
    private static let temperature = BluetoothUUID.Characteristics.temperature
    private static let thermometer = LocalPeripheral(name: "Thermometer") {
        LocalService(.environmentalSensing) { LocalCharacteristic(temperature, [.read, .notify]) }
    }

    /// Runs a thermometer that only ever sends, and does something to its radio after ten seconds.
    ///
    /// - Returns: the error, when it came, and how often the closure went on after that.
    private func thermometer(
        losing radio: @escaping @Sendable (SimulatedAdapter, PuppetRadio) -> Void
    ) async throws -> (error: BLEError?, time: Duration, sent: Int) {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter(name: "hci7")
            let puppet = PuppetRadio(adapter)
            let sent = Recorder<Duration>()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await time.sleep(for: .seconds(10.5))
                    radio(adapter, puppet)
                }
                let error = await bleError {
                    try await Self.thermometer.run(on: puppet) { server in
                        while true {
                            try await server.notify([1, 2], of: Self.temperature)
                            sent.add(time.now)
                            try await time.sleep(for: .seconds(1))
                        }
                    }
                }
                let end = time.now
                try await time.sleep(for: .seconds(60))
                try await group.waitForAll()
                #expect(adapter.activity.isIdle)
                return (error, end, sent.all.count)
            }
        }
    }

    @Test func `an adapter that goes off and on at once ends it with the adapter's error`() async throws {
        let (error, time, sent) = try await thermometer { adapter, _ in
            adapter.powerOff()
            adapter.powerOn()
        }
        #expect(error?.code == .adapterPoweredOff)
        #expect(error?.cause.contains("hci7") == true && error?.remedy.isEmpty == false)
        #expect(time == .seconds(10.5) && sent == 11)
    }

    @Test(arguments: [BLEError.Code.adapterPoweredOff, .adapterNotFound, .adapterBlocked])
    func `an adapter that is switched off, unplugged or blocked ends it`(_ code: BLEError.Code) async throws {
        let (error, time, _) = try await thermometer { adapter, _ in
            switch code {
            case .adapterPoweredOff: adapter.powerOff()
            case .adapterNotFound: adapter.unplug()
            default: adapter.block()
            }
        }
        #expect(error?.code == code && error?.cause.contains("hci7") == true)
        #expect(time == .seconds(10.5))
    }

    @Test func `advertising that is taken away, or a listener that is closed, ends it`() async throws {
        let taken = BLEError(.busy, operation: "advertise", object: "hci7", cause: "taken away")
        let (error, time, _) = try await thermometer { _, puppet in puppet.tellAdvertiser(.failed(taken)) }
        #expect(error?.code == .busy && error?.cause == "taken away" && time == .seconds(10.5))
        let closed = BLEError(.systemFailure, operation: "listen", object: "hci7", cause: "closed")
        let (failure, end, _) = try await thermometer { _, puppet in puppet.tellListener(.failed(closed)) }
        #expect(failure?.code == .systemFailure && failure?.cause == "closed" && end == .seconds(10.5))
    }

    @Test func `the error is thrown whatever the closure makes of its end, and what is sent meanwhile throws it`()
        async throws
    {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            let thrown = Recorder<BLEError.Code?>()
            let error = await bleError {
                try await Self.thermometer.run(on: adapter) { server in
                    adapter.powerOff()
                    // It is slow to end, and takes no notice of anything.
                    do { try await time.sleep(for: .seconds(5)) } catch {}
                    thrown.add(await bleError { try await server.notify([1], of: Self.temperature) }?.code)
                }
            }
            #expect(error?.code == .adapterPoweredOff)
            #expect(thrown.all == [.adapterPoweredOff])
        }
    }

    @Test func `it can be run again on the same adapter, and is found`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while true {
                        do {
                            try await Self.thermometer.run(on: far) { server in
                                while true {
                                    try await server.notify([7], of: Self.temperature)
                                    try await time.sleep(for: .seconds(1))
                                }
                            }
                        } catch let error as BLEError where error.code == .adapterPoweredOff {
                            try await time.sleep(for: .seconds(2))
                        }
                    }
                }
                let central = try await Central.open(.radio(near))
                for _ in 0..<3 {
                    let found = try await central.scan(for: .service(.environmentalSensing)).first()
                    try await found.peripheral.withLink { link in
                        let value = try await link.notifications(of: Self.temperature).first()
                        #expect(Array(value) == [7])
                    }
                    far.powerOff()
                    far.powerOn()
                }
                group.cancelAll()
            }
        }
    }

    @Test func `that nobody hears a value is to be seen`() async throws {
        try await VirtualTime.run { time in
            try await Self.thermometer.run(on: SimulatedAir(time).adapter()) { server in
                let outcomes = try await server.notify([1], of: Self.temperature)
                #expect(outcomes.isEmpty)
            }
        }
    }

    @Test func `a server that has been stopped says so`() async throws {
        try await VirtualTime.run { time in
            let server = try await Self.thermometer.run(on: SimulatedAir(time).adapter()) { $0 }
            let error = await bleError { try await server.notify([1], of: Self.temperature) }
            #expect(error?.code == .ended && error?.remedy.isEmpty == false)
        }
    }

    @Test func `cancelling the program ends it as before`() async throws {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await Self.thermometer.run(on: adapter) }
                }
                try? await time.sleep(for: .seconds(1))
                #expect(adapter.activity.advertisementCount == 1)
                group.cancelAll()
            }
            #expect(adapter.activity.isIdle)
        }
    }
}
