import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// What a device with the plain protocol has told an earlier program, on a link that its successor has taken over.
@Suite(.timeLimit(.minutes(10))) struct EarlyStatusTests {
    @Test func `a status that is older than the one that was read does not end an update`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(100_000))
        try await device.run { bench in
            bench.air.faults.add(.dropLink(after: 100, .writeCommands))
            try await bench.peripheral.withQueue { queue in
                let update = FirmwareUpdateFlow(image, over: .plain(), resume: .constant(.zero, attempts: 0))
                let error = await bleError { try await queue.connecting().run(update) }
                #expect(error?.code == .disconnected)
            }
            try await bench.time.sleep(for: .seconds(1))
            var late = device.plain.status
            try #require(late.state == .receiving && late.offset > 16_384)
            late.offset -= 8192
            let handle = try await bench.peripheral.withLink { link in
                let database = try await link.discover()
                let key = FirmwareUpdateFlow.PlainProfile.standard.status
                return try #require(database.characteristic(key)).valueHandle
            }
            let pdu = [0x1B, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + late.encoded
            let radio = EagerRadio(radio: bench.centralAdapter, time: bench.time, early: [pdu])
            let central = try await Central.open(.radio(radio))
            try await central.peripheral(bench.peripheralAdapter.address).withQueue { queue in
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .plain()))
            }
            #expect(device.plain.image == image.bytes)
        }
    }
}
