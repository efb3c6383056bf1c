import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Records that the kernel has no room for, or for which there is no subscription: the device has sent them, and nobody
/// hears them.
@Suite(.timeLimit(.minutes(10))) struct LostRecordTests {
    private func onQueue(
        _ acknowledged: Recorder<UInt32> = Recorder(),
        _ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void
    ) async throws {
        try await Bench.run(description: RecordDevice.description, serve: RecordDevice.live(acknowledged)) { bench in
            try await bench.peripheral.withQueue { try await body(bench, $0.connecting()) }
        }
    }

    /// In the middle, the last one, and the end of a report over plain characteristics with it.
    @Test(arguments: [(0, 50, 3), (0, 189, 1), (0, 189, 2), (1, 50, 3), (1, 189, 1)])
    func `a record that was dropped is fetched again before later ones are stored or acknowledged`(
        transport: Int,
        skipped: Int,
        dropped: Int
    ) async throws {
        let acknowledged = Recorder<UInt32>()
        try await onQueue(acknowledged) { bench, queue in
            bench.air.faults.add(.overflow(.notifications).skipping(skipped).times(dropped))
            let log = Recorder<Int>()
            let count = try await queue.run(FlowTests.synchronization(transport, after: 9, log))
            #expect(log.all == Array(10..<200) && count == 190)
            #expect(queue.link?.droppedPDUs == dropped)
            if transport == 0 { #expect(acknowledged.all.last == 199 && acknowledged.all == acknowledged.all.sorted()) }
        }
    }

    @Test func `a link on which PDUs are dropped again and again ends the flow with that`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(.overflow(.notifications))
            let error = await bleError { try await queue.run(FlowTests.synchronization(0, Recorder())) }
            #expect(error?.code == .overflow && error?.remedy.isEmpty == false, "\(error as Any)")
        }
    }

    @Test func `a program that can't store a record in time is told that, whatever was dropped before`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(.overflow(.notifications).skipping(5).times(1))
            let stored = Recorder<Int>()
            let flow = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: nil) { record in
                stored.add(record.number)
                guard record.number == 4 else { return }
                // The next one is dropped meanwhile.
                try await bench.time.sleep(for: .milliseconds(500))
                throw BLEError(.timedOut, operation: "store", cause: "the disk is slow", remedy: "Wait.")
            }
            #expect(await bleError { try await queue.run(flow) }?.operation == "store")
            #expect(stored.all == Array(0..<5))
        }
    }

    /// The characteristics of the records at other handles.
    private static let moved = LocalService(BluetoothUUID(0xC000)) {
        LocalCharacteristic(BluetoothUUID(0xC0FF), [.read], value: .stored([1]))
        LocalCharacteristic(RecordDevice.control, [.write], value: .dynamic)
        LocalCharacteristic(RecordDevice.records, [.notify])
    }

    /// Reports records up to 199. Amid the first report its services change, and those from 100 to 109 have no
    /// subscriber.
    private static func serveMoving(_ server: PeripheralServer, _ bench: Bench) async throws {
        var unheard = 100..<110
        for try await write in server.writes(to: RecordDevice.control) {
            write.accept()
            guard write.value.first == 1 else { continue }
            let first = Int(UInt32(octets: write.value.dropFirst()))
            do {
                for number in first..<max(first, 200) where !unheard.contains(number) {
                    let record = UInt32(number).octets + RecordDevice.record(number)
                    try await server.notify(record, of: RecordDevice.records, to: write.central)
                    guard number + 1 == unheard.first else { continue }
                    try server.replaceServices([moved])
                    try await bench.time.sleep(for: .seconds(5))
                }
                try await server.notify(UInt32.max.octets, of: RecordDevice.records, to: write.central)
            } catch let error as BLEError where error.code == .notSupported {
                // The central has given the report up.
            }
            unheard = 0..<0
        }
    }

    @Test func `records that had no subscriber while the services changed are fetched again`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await Self.serveMoving(server, bench)
        }
        try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let log = Recorder<Int>()
                let transport = PlainRecordTransport(control: RecordDevice.control, records: RecordDevice.records)
                // The device takes no acknowledgement amid a report.
                let flow = SynchronizationFlow(over: transport, after: nil, batch: 1000) { log.add($0.number) }
                let count = try await queue.connecting().run(flow)
                #expect(count == 200)
                #expect(log.all == Array(0..<200), "\(log.all)")
            }
        }
    }
}
