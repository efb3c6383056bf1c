import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// The rest of a report that an earlier program has requested, on a link that its successor has taken over.
@Suite(.timeLimit(.minutes(10))) struct EarlyRecordTests {
    @Test func `records that come before the request to a control point are none of its report`() async throws {
        let serve = RecordDevice.live(Recorder())
        try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
            let handle = try await bench.peripheral.withLink { link in
                let database = try await link.discover()
                return try #require(database.characteristic(RecordDevice.glucose)).valueHandle
            }
            let early = (61..<66).map { number -> [UInt8] in
                let place = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
                return [0x1B] + place + [0, UInt8(number), 0] + RecordDevice.record(number)
            }
            let radio = EagerRadio(radio: bench.centralAdapter, time: bench.time, early: early)
            let central = try await Central.open(.radio(radio))
            let log = Recorder<Int>()
            try await central.peripheral(bench.peripheralAdapter.address).withQueue { queue in
                let flow = FlowTests.synchronization(1, after: 20, log)
                let count = try await queue.connecting().run(flow)
                #expect(count == 179)
            }
            #expect(log.all == Array(21..<200))
        }
    }
}
