import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices with the plain protocol that notify behind a subscription what they have received before.
@Suite(.timeLimit(.minutes(10))) struct LateStatusTests {
    /// Runs a body beside a device that notifies a status whenever somebody subscribes to it; `nil`: its present one.
    private static func run(
        _ device: UpdateDevice,
        notifying late: PlainUpdateStatus?,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        let key = FirmwareUpdateFlow.PlainProfile.standard.status
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.live(server, bench) }
                group.addTask {
                    for try await change in server.subscriptions(of: key) where change.isSubscribed {
                        let status = late ?? device.plain.status
                        try await server.notify(status.encoded, of: key, to: change.central)
                    }
                }
                try await group.waitForAll()
            }
        }
        try await Bench.run(description: device.description, serve: serve, body)
    }

    @Test(arguments: [PlainUpdateStatus.State.complete, .failed, .receiving], [false, true])
    func `a status of another image says nothing about this one`(
        state: PlainUpdateStatus.State,
        isInterrupted: Bool
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        let late = PlainUpdateStatus(
            state: state,
            failure: state == .failed ? .storage : .none,
            model: 7,
            capacity: 300_000,
            image: Array(try UpdateDevice.firmware(5000, 3).sha256.prefix(4)),
            offset: 1000,
            window: 16_384
        )
        try await Self.run(device, notifying: late) { bench in
            // Behind the loss, the device is asked how far it is, and told nothing.
            if isInterrupted { bench.air.faults.add(.dropLink(after: 40, .writeCommands)) }
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(FirmwareUpdateFlow(image, over: .plain(model: 7)))
                #expect(device.plain.image == image.bytes)
                try await queue.run(.block("look") { try await $0.expectNoSubscriptions() })
            }
            // It came first.
            let told = bench.sent(by: .peripheral).first { $0.first == 0x1B }
            #expect(told.flatMap { PlainUpdateStatus($0.dropFirst(3)) } == late)
        }
    }

    @Test func `a second image is brought to a device that says that it has the first one`() async throws {
        let device = UpdateDevice()
        let images = try [UInt64(2), 3].map { try UpdateDevice.firmware(5000, $0) }
        try await Self.run(device, notifying: nil) { bench in
            try await bench.peripheral.withQueue { queue in
                for image in images {
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .plain()))
                    #expect(device.plain.image == image.bytes)
                }
            }
        }
    }

    @Test func `a device that only repeats its status is given up`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        let (key, told) = (FirmwareUpdateFlow.PlainProfile.standard.status, Recorder<PlainUpdateStatus>())
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.live(server, bench) }
                group.addTask {
                    for try await change in server.subscriptions(of: key) where change.isSubscribed {
                        for _ in 0..<300 {
                            try await bench.time.sleep(for: .seconds(1))
                            let status = device.plain.status
                            guard status.state == .receiving else { break }
                            told.add(status)
                            _ = try? await server.notify(status.encoded, of: key, to: change.central)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await Bench.run(description: device.description, serve: serve) { bench in
            // The device never gets the rest of its window.
            bench.air.faults.add(.swallow(.writeCommands).skipping(5))
            try await bench.peripheral.withQueue { queue in
                let flow = FirmwareUpdateFlow(image, over: .plain(), patience: .seconds(20))
                let error = await bleError { try await queue.connecting().run(flow) }
                #expect(error?.code == .timedOut && error?.cause.contains("nothing new") == true)
                try await queue.connecting().run(.block("look") { try await $0.expectNoSubscriptions() })
            }
        }
        #expect((2...22).contains(told.all.count), "it has waited for \(told.all.count) statuses")
    }

    @Test func `an image that was spoilt on its way is sent again, to a device that still says so`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await Self.run(device, notifying: nil) { bench in
            let spoil = Fault.replace(.where { $0.first == 0x52 && $0.count > 100 }) { pdu in
                pdu.dropLast() + [(pdu.last ?? 0) ^ 1]
            }
            bench.air.faults.add(spoil.times(1))
            try await bench.peripheral.withQueue { queue in
                let (queue, update) = (queue.connecting(), FirmwareUpdateFlow(image, over: .plain()))
                let error = await bleError { try await queue.run(update) }
                #expect(error?.cause.contains("does not match the announced hash") == true)
                try await queue.run(update)
                #expect(device.plain.image == image.bytes)
            }
        }
    }
}
