import BLEDevices
import BLESimulator
import BLEStreams
import Testing

extension Acceptance {
    /// Pairing, synchronization, configuration, firmware update: one at a time is active.
    @Suite("Flows", .timeLimit(.minutes(10))) struct Flows {
        @Test func `a device is paired with, synchronized and configured, one flow after the other`() async throws {
            let acknowledged = Recorder<UInt32>()
            try await Bench.run(
                description: RecordDevice.description,
                serve: RecordDevice.live(acknowledged)
            ) { bench in
                try await bench.peripheral.withQueue { queue in
                    let flows = queue.connecting()
                    let pairing = PairingFlow(reading: RecordDevice.secret) { _ in
                        let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
                        bench.air.setSecurity(security, between: bench.centralAdapter, and: bench.peripheralAdapter)
                    }
                    let outcome = try await flows.run(pairing, replacing: .activeFlow)
                    #expect(outcome.wasPaired && outcome.value.text == "secret")

                    let records = Recorder<Int>()
                    bench.air.faults.add(.dropLink(after: 50, .notifications))
                    let count = try await flows.run(FlowTests.synchronization(0, records), replacing: .activeFlow)
                    #expect(count == 200 && records.all == Array(0..<200))

                    let changed = try await flows.run(ConfigurationFlow(FlowTests.wishes), replacing: .activeFlow)
                    #expect(changed.count == 4 && flows.activeFlow == nil)
                }
            }
        }

        @Test func `firmware is updated through a lost link, from where the device is`() async throws {
            let device = UpdateDevice()
            try await device.run { bench in
                let fault = bench.air.faults.add(.dropLink(after: 60, .writeCommands))
                let progress = Recorder<Int>()
                try await bench.peripheral.withQueue { queue in
                    let flows = queue.connecting()
                    try await flows.run(FirmwareUpdateFlow(try UpdateDevice.firmware()), replacing: .activeFlow) {
                        if $0.phase == "upload", let completed = $0.completed { progress.add(completed) }
                    }
                }
                // Lost in the middle, the upload is not begun anew: the device tells what it has.
                let parts = progress.all.split(separator: 0)
                #expect(parts.count == 2 && bench.air.faults.strikes(of: fault) == 1)
                #expect((parts.last?.first ?? 0) * 2 > (parts.first?.last ?? 0), "\(progress.all)")
            }
        }

        @Test func `a flow that takes another's place ends it, and it sees no further event`() async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                try await bench.peripheral.withQueue { queue in
                    let flows = queue.connecting()
                    let heard = Recorder<String>()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            let error = await bleError {
                                try await flows.run(
                                    FlowTests.Listening(heard: heard, time: bench.time),
                                    replacing: .activeFlow
                                )
                            }
                            #expect(error?.code == .ended && error?.cause.contains("configuration") == true)
                        }
                        try await bench.time.sleep(for: .seconds(5))
                        let setting = ConfigurationFlow.Setting(Bench.readable, [5])
                        try await flows.run(ConfigurationFlow([setting]), replacing: .activeFlow)
                        try await group.waitForAll()
                    }
                    #expect(heard.all.first == "begin" && heard.all.suffix(2) == ["nothing more", "end"])
                }
            }
        }

        @Test func `while a flow runs, a read from elsewhere in the program waits`() async throws {
            let device = UpdateDevice()
            try await device.run { bench in
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting()
                    let update = queue.enqueue(FirmwareUpdateFlow(try UpdateDevice.firmware()))
                    let read = queue.enqueue(.read(UpdateDevice.battery))
                    #expect(Array(try await read.value) == [87])
                    guard case .ended(.done) = update.state else {
                        Issue.record("\(update.state)")
                        return
                    }
                }
            }
        }
    }
}
