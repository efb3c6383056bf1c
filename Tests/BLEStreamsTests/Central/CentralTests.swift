import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

@Suite(.timeLimit(.minutes(10))) struct CentralTests {
    @Test func `a scan finds what its filters ask for and stops the radio when it is left`() async throws {
        try await Bench.run { bench in
            let found = try await bench.central.scan(
                for: .service(BluetoothUUID(0xA000)),
                .rssi(atLeast: -80),
                .namePrefix("Be")
            )
            .timeout(.seconds(10)).first()
            #expect(found.address == bench.peripheralAdapter.address)
            #expect(found.name == "Bench" && found.rssi == -60 && found.isConnectable)
            #expect(found.services == [BluetoothUUID(0xA000)])
            #expect(bench.centralAdapter.activity.isIdle)
            let error = await bleError {
                _ = try await bench.central.scan(for: .name("Nobody")).timeout(.seconds(10)).first()
            }
            #expect(error?.code == .timedOut && error?.operation == "scan")
            #expect(error?.remedy.contains("not connected to another central") == true)
            #expect(error?.remedy.contains("to this machine by another program") == true)
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `the adapter is told as it is at that moment`() async throws {
        try await Bench.run { bench in
            #expect(bench.central.adapter.address == bench.centralAdapter.address)
            #expect(bench.central.adapter.state == .poweredOn)
            bench.centralAdapter.powerOff()
            #expect(bench.central.adapter.state == .poweredOff)
        }
    }

    @Test func `each peripheral comes once, unless duplicates are asked for`() async throws {
        try await Bench.run { bench in
            let once = try await bench.central.scan().take(until: bench.quiet(after: .seconds(10))).collect()
            #expect(once.count == 1)
            let all = try await bench.central.scan(duplicates: true).collect(20)
            #expect(all.count == 20)
        }
    }

    @Test func `several scans share one scan of the radio`() async throws {
        try await Bench.run { bench in
            async let first = bench.central.scan(for: .connectable).first()
            async let second = bench.central.scan(for: .name("Bench"), mode: .passive).first()
            let addresses = try await (first.address, second.address)
            #expect(addresses.0 == addresses.1)
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `adapter states begin with the present one and follow each change`() async throws {
        try await Bench.run { bench in
            async let states = bench.central.adapterStates.collect(4)
            try await bench.time.sleep(for: .seconds(1))
            bench.centralAdapter.powerOff()
            bench.centralAdapter.unplug()
            bench.centralAdapter.plugIn()
            let seen = try await states
            #expect(seen == [.poweredOn, .poweredOff, .absent, .poweredOn])
        }
    }

    @Test func `an adapter that is switched off is named, with what to do`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.powerOff()
            let scan = await bleError { _ = try await bench.central.scan().first() }
            #expect(scan?.code == .adapterPoweredOff && scan?.remedy.isEmpty == false)
            let connect = await bleError { try await bench.peripheral.withLink { _ in } }
            #expect(connect?.code == .adapterPoweredOff)
        }
    }

    @Test func `an absent peripheral is given up after the time limit`() async throws {
        try await Bench.run { bench in
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random))
            let error = await bleError { try await absent.withLink(timeout: .seconds(7)) { _ in } }
            #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(7))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `the kind of an address is found out by connecting`() async throws {
        try await Bench.run { bench in
            let peripheral = try bench.central.peripheral(bench.peripheralAdapter.address.description)
            try await peripheral.withLink { link in
                #expect(link.peripheral.address == bench.peripheralAdapter.address)
            }
            #expect(bench.centralAdapter.activity.isIdle)
            #expect(throws: BLEError.self) { try bench.central.peripheral("C4:F2:17") }
        }
    }

    @Test func `the less likely kind of an address has its turn too`() async throws {
        try await Bench.run { bench in
            // The bits of a random address, on a device that calls it public.
            let odd = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .public)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let adapter = bench.air.adapter(address: odd)
                group.addTask { try await LocalPeripheral(name: "Odd") {}.run(on: adapter) }
                let begin = bench.time.now
                try await bench.central.peripheral(odd.description).withLink { link in
                    #expect(link.peripheral.address == odd)
                    // Its advertisements have told: the likelier kind has had no turn of seconds.
                    #expect(bench.time.now - begin < .seconds(3))
                }
                group.cancelAll()
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `where nobody may scan the kinds of an address take turns`() async throws {
        try await Bench.run { bench in
            let odd = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .public)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let adapter = bench.air.adapter(address: odd)
                group.addTask { try await LocalPeripheral(name: "Odd") {}.run(on: adapter) }
                let central = try await Central.open(.radio(DeafRadio(radio: bench.centralAdapter)))
                try await central.peripheral(odd.description).withLink { link in
                    #expect(link.peripheral.address == odd)
                }
                group.cancelAll()
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a peripheral whose link another program holds is told of at once, whatever is known of its address`()
        async throws
    {
        try await Bench.run { bench in
            let (adapter, address) = (bench.centralAdapter, bench.peripheralAdapter.address)
            for radio in [DeafRadio(radio: adapter), QuietRadio(radio: adapter)] as [any Radio] {
                let central = try await Central.open(.radio(radio))
                try await bench.central.peripheral(address).withLink { _ in
                    let begin = bench.time.now
                    let error = await bleError { try await central.peripheral("\(address)").withLink { _ in } }
                    #expect(error?.code == .busy && bench.time.now - begin < .seconds(1), "\(radio)")
                }
            }
        }
    }

    @Test func `where nobody may scan a failed attempt is told of at once, whatever is known of the address`()
        async throws
    {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(DeafRadio(radio: bench.centralAdapter)))
            let address = bench.peripheralAdapter.address
            // The controller manages no link more than other programs have.
            bench.centralAdapter.settings.maximumPeripherals = 0
            for peripheral in try [central.peripheral(address), central.peripheral(address.description)] {
                let begin = bench.time.now
                let error = await bleError { try await peripheral.withLink { _ in } }
                #expect(error?.code == .connectionFailed && error?.cause.contains("slot") == true)
                #expect(bench.time.now - begin < .seconds(1))
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `where a link was about to end it is listened for its peripheral all the same`() async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(LinkedRadio(radio: bench.centralAdapter)))
            let absent = try central.peripheral("C0:FF:EE:00:00:01")
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await absent.withLink { _ in } }
                try? await bench.time.sleep(for: .seconds(4))
                #expect(!bench.centralAdapter.activity.isScanning)
                try? await bench.time.sleep(for: .seconds(2))
                #expect(bench.centralAdapter.activity.isScanning)
                group.cancelAll()
            }
        }
    }

    @Test func `listening for an address can be cancelled, and ends with the time limit`() async throws {
        try await Bench.run { bench in
            let absent = try bench.central.peripheral("C0:FF:EE:00:00:01")
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await absent.withLink { _ in } }
                }
                try? await bench.time.sleep(for: .seconds(1))
                #expect(!bench.centralAdapter.activity.isIdle)
                group.cancelAll()
            }
            #expect(bench.centralAdapter.activity.isIdle)
            let begin = bench.time.now
            let error = await bleError { try await absent.withLink(timeout: .seconds(40)) { _ in } }
            #expect(error?.code == .timedOut && bench.time.now - begin == .seconds(40))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a connection that fails to be established is tried again`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.refuseConnections(3))
            try await bench.peripheral.withLink { link in #expect(link.mtu == 517) }
            bench.air.faults.add(.refuseConnections(8))
            try await bench.peripheral.withLink { link in #expect(link.mtu == 517) }
            bench.air.faults.add(.refuseConnections(1000))
            let error = await bleError { try await bench.peripheral.withLink { _ in } }
            #expect(error?.code == .connectionFailed && error?.reason?.kind == .failedToEstablish)
            #expect(error?.elapsed == .seconds(30))
        }
    }

    @Test func `connection states follow a link from its beginning to its end`() async throws {
        try await Bench.run { bench in
            async let states = bench.peripheral.connectionStates.collect(5)
            try await bench.time.sleep(for: .seconds(1))
            try await bench.peripheral.withLink { _ in }
            let seen = try await states
            #expect(
                seen == [
                    .disconnected(nil), .connecting, .connected, .disconnecting,
                    .disconnected(DisconnectReason(.closedLocally)),
                ]
            )
        }
    }

    @Test func `a stream of a peripheral connects again when its link is lost`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(30)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            let numbers = try await bench.peripheral
                .stream { $0.notifications(of: Bench.notifying) }
                .retry(.exponential()).map { UInt32(octets: $0) }.collect(40)
            #expect(numbers == Array(0..<10) + Array(0..<30))
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a busy consumer is told that connecting has failed, though its time is over`() async throws {
        try await Bench.run { bench in
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random))
            let values = absent.stream(timeout: .seconds(5)) { $0.notifications(of: Bench.notifying) }.map { _ in 0 }
            let ticks = BLEStream<Int>.interval(.seconds(1), timeline: bench.time)
            let error = await bleError {
                // The attempt fails, and the time is over, while it is busy with the first tick.
                for try await _ in values.merge(with: ticks).prefix(for: .seconds(10)) {
                    try await bench.time.sleep(for: .seconds(20))
                }
            }
            #expect(error?.code == .timedOut)
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `connecting that fails behind the time of a busy consumer is no error of its stream`() async throws {
        try await Bench.run { bench in
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random))
            let values = absent.stream(timeout: .seconds(5)) { $0.notifications(of: Bench.notifying) }.map { _ in 0 }
            let others = BLEStream<Int>(timeline: bench.time) { feed in
                feed.send(contentsOf: [1, 2, 3])
                return {}
            }
            var seen: [Int] = []
            // The time is over while it is busy with the first one, and the attempt fails during the second one.
            for try await number in values.merge(with: others).prefix(for: .seconds(1)) {
                seen.append(number)
                try await bench.time.sleep(for: .seconds(3))
            }
            #expect(seen == [1, 2, 3])
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `connecting can be cancelled, and leaves nothing behind`() async throws {
        try await Bench.run { bench in
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await absent.withLink { _ in } }
                }
                try? await bench.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }
}

extension Bench {
    /// One element, after a while.
    func quiet(after delay: Duration) -> BLEStream<Int> {
        let time = time
        return BLEStream(timeline: time) { feed in
            let timer = time.schedule(after: delay) { feed.send(0) }
            return { timer.cancel() }
        }
    }
}

/// Whose scans hear nothing.
private struct QuietRadio: IdleRadio {
    let radio: SimulatedAdapter

    var timeline: any Timeline { radio.timeline }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { radio.connect(to: peer, result: result) }

    func hasLink(to peer: BluetoothAddress) -> Bool { radio.hasLink(to: peer) }
}

/// Whose system says that it has a link to everybody.
private struct LinkedRadio: IdleRadio {
    let radio: SimulatedAdapter

    var timeline: any Timeline { radio.timeline }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        radio.scan(request, events: events)
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { radio.connect(to: peer, result: result) }

    func hasLink(to peer: BluetoothAddress) -> Bool { true }
}
