import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// A device of which one central asks more than its link takes.
@Suite(.timeLimit(.minutes(10))) struct GreedyCentralTests {
    /// One PDU a second in each direction.
    private static let lazy = AdapterSettings(
        linkTiming: LinkTiming(connectionInterval: .seconds(1), packetsPerEvent: 1, supervisionTimeout: .seconds(30))
    )

    /// Reads the states of the images: a request of one PDU, whose answer takes several.
    private static let request: [UInt8] = [0x08, 0, 0, 1, 0, 1, 0, 0, 0xA0]

    private static func octets(_ handle: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] }

    @Test func `a central that asks faster than it takes answers loses its link, and another one is updated`()
        async throws
    {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { try await device.live($0, $1) }
        // The radio takes no more than a few PDUs ahead.
        let settings = AdapterSettings(sendBufferSize: 2000)
        try await Bench.run(description: device.description, centrals: 2, settings: settings, serve: serve) { bench in
            let address = bench.peripheralAdapter.address
            let uuid = try #require(device.mcumgr.service.characteristics.first).uuid
            let (value, configuration) = try await bench.peripheral.withLink { link in
                let found = try #require(try await link.discover().characteristic(uuid))
                return (found.valueHandle, try #require(found.clientConfiguration).handle)
            }
            try await RawCentral.connected(from: bench.air.adapter(settings: Self.lazy), to: address) { greedy in
                let answer = await greedy.ask([0x12] + Self.octets(configuration) + [0x01, 0x00])
                #expect(answer == [0x13])
                try await greedy.flood(500, bench.time) { _ in [0x52] + Self.octets(value) + Self.request }
                try await bench.time.sleep(for: .seconds(200))
                #expect(greedy.end != nil)
                try await bench.peripheral.withQueue { queue in
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
                }
            }
        }
        #expect(device.mcumgr.runningImage == image.bytes)
    }
}
