import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Images that the boot loader decompresses: the device lists them by another hash once they run.
@Suite(.timeLimit(.minutes(10))) struct CompressedImageTests {
    private static let decompressed = [UInt8](repeating: 0xD5, count: 32)

    /// An image as `imgtool` lays it out: the protected trailer has the hash of what is decompressed.
    ///
    /// - Parameter flags: the second octet of the flags: 2 for LZMA1, 4 for LZMA2.
    private static func image(flags: UInt8) -> [UInt8] {
        var octets = UpdateDevice.image(2000, 2)
        octets[10] = 40
        octets[17] = flags
        octets.insert(contentsOf: [0x08, 0x69, 40, 0, 0x71, 0, 32, 0] + decompressed, at: 32 + 2000)
        return octets
    }

    private static func replacing(_ old: [UInt8], by new: [UInt8], in octets: [UInt8]) -> [UInt8] {
        guard let start = octets.indices.first(where: { octets[$0...].starts(with: old) }) else { return octets }
        return Array(octets[..<start]) + new + Array(octets[(start + old.count)...])
    }

    @Test func `the hash of what is decompressed counts where the flags say that the image is compressed`() throws {
        for flags: UInt8 in [2, 4] {
            let image = try #require(MCUbootImage(Self.image(flags: flags)))
            #expect(image.installedHash == Self.decompressed && image.hash != Self.decompressed)
            #expect(image.hash?.count == 32)
        }
        let plain = try #require(MCUbootImage(Self.image(flags: 0)))
        #expect(plain.hash != nil && plain.installedHash == plain.hash)
    }

    @Test func `an image that was decompressed is confirmed, and again nothing is done`() async throws {
        let (device, image) = (UpdateDevice(), try FirmwareImage(Self.image(flags: 4)))
        let stored = try #require(image.bootHash)
        try await device.run { bench in
            // After a reset the device knows the image by the other hash.
            bench.air.faults.add(
                .replace(.notifications) { pdu in
                    device.mcumgr.restarts == 0 ? pdu : Self.replacing(stored, by: Self.decompressed, in: pdu)
                }
            )
            bench.air.faults.add(
                .replace(.writeCommands) { pdu in
                    device.mcumgr.restarts == 0 ? pdu : Self.replacing(Self.decompressed, by: stored, in: pdu)
                }
            )
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(FirmwareUpdateFlow(image))
                #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
                bench.air.clearTrace()
                try await flows.run(FirmwareUpdateFlow(image))
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .confirmed)
            }
            #expect(device.mcumgr.restarts == 1)
            // Nothing of the image is sent again.
            #expect(bench.sent(by: .central).allSatisfy { $0.count < 200 })
        }
    }
}
