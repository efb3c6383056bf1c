import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices that don't tell the size of their buffer, as those on Zephyr unless configured.
@Suite(.timeLimit(.minutes(10))) struct SmallBufferTests {
    /// Has the device say that it doesn't know the command for its limits.
    private static let silence = Fault.replace(
        .where { $0.count > 11 && $0[0] == 0x1B && $0[7...8] == [0, 0] && $0[10] == 6 },
        by: { pdu in
            let body = CBORValue.map(["rc": .integer(8)]).encoded
            return Array(pdu[..<5]) + [0, UInt8(body.count)] + pdu[7..<11] + body
        }
    )

    @Test(arguments: [384, 200])
    func `a device that drops what its buffer can't hold is sent smaller requests`(size: Int) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(20_000))
        try await device.run { bench in
            bench.air.faults.add(Self.silence)
            bench.air.faults.add(.swallow(.where { $0.first == 0x52 && $0.count - 3 > size }))
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
            }
        }
        #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
    }

    @Test func `one that has taken a large request is sent large ones, also behind one that was lost`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(20_000))
        try await device.run { bench in
            bench.air.faults.add(Self.silence)
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                bench.air.faults.add(.swallow(.notifications).skipping(10).times(1))
                try await queue.run(FirmwareUpdateFlow(image, over: .mcumgr()))
            }
            // Parts of the image.
            let parts = bench.sent(by: .central).filter { $0.count > 11 && $0[0] == 0x52 && $0[10] == 1 }
            #expect(parts.count < 60 && parts.filter { $0.count > 400 }.count > 35, "\(parts.count)")
        }
        #expect(device.mcumgr.runningImage == image.bytes)
    }
}
