import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// A device with the plain protocol that two centrals update at once.
@Suite(.timeLimit(.minutes(10))) struct TwoUpdatersTests {
    @Test(arguments: [true, false])
    func `what one central sends is no part of the image of the other one`(isSameImage: Bool) async throws {
        let (device, first) = (UpdateDevice(), try UpdateDevice.firmware(290_000))
        let second = isSameImage ? first : try UpdateDevice.firmware(290_000, 3)
        let failures = Recorder<BLEError>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { try await device.live($0, $1) }
        try await Bench.run(description: device.description, centrals: 2, serve: serve) { bench in
            let other = try await Central.open(.radio(bench.air.adapter()))
            try await other.peripheral(bench.peripheralAdapter.address).withQueue { queue in
                let queue = queue.connecting()
                _ = try await queue.run(.read(UpdateDevice.battery))
                let begun = Recorder<Bool>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await bench.peripheral.withQueue { queue in
                            let (queue, flow) = (queue.connecting(), FirmwareUpdateFlow(first, over: .plain()))
                            do {
                                try await queue.run(flow, replacing: .activeFlow) { progress in
                                    if progress.completed ?? 0 > 5000 { begun.add(true) }
                                }
                            } catch let error as BLEError { failures.add(error) }
                        }
                    }
                    while begun.all.isEmpty { try await bench.time.sleep(for: .milliseconds(5)) }
                    let flow = FirmwareUpdateFlow(second, over: .plain())
                    do { try await queue.run(flow) } catch let error as BLEError { failures.add(error) }
                    try await group.waitForAll()
                }
            }
        }
        // One has brought its image, and the other one was told nothing more.
        #expect(device.plain.image == second.bytes)
        #expect(failures.all.map(\.code) == [.timedOut])
    }
}
