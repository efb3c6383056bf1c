import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

@Suite(.timeLimit(.minutes(10))) struct UpdateTimingTests {
    /// How long the plain update of 256 kB takes, and how long it would take if the link carried nothing else.
    static func measure(
        _ timing: LinkTiming,
        mtu: Int,
        _ kind: Link.WriteKind
    ) async throws -> (time: Duration, ceiling: Duration) {
        let image = try UpdateDevice.firmware(256_000 - 72, 9)
        let device = UpdateDevice(capacity: 300_000, window: 32_768)
        let chunk = min(mtu - 3, 512)
        let elapsed = try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let near = air.adapter(settings: AdapterSettings(linkTiming: timing, maximumPDUSize: mtu))
            let far = air.adapter(settings: AdapterSettings(maximumPDUSize: mtu))
            let central = try await Central.open(.radio(near))
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.description.run(on: far) { try await device.plain.run(on: $0) } }
                defer { group.cancelAll() }
                return try await central.peripheral(far.address).withLink { link in
                    #expect(link.mtu == mtu)
                    _ = try await link.discover()
                    let begin = time.now
                    try await link.run(FirmwareUpdateFlow(image, over: .plain(writing: kind)))
                    return time.now - begin
                }
            }
        }
        #expect(device.plain.image == image.bytes)
        let throughput = try #require(timing.throughput(pduSize: chunk + 3)) * Double(chunk) / Double(chunk + 3)
        return (elapsed, .seconds(256_000 / throughput))
    }

    @Test(arguments: [LinkTiming.linux, .fast]) func `without response the link is kept full`(timing: LinkTiming)
        async throws
    {
        let (time, ceiling) = try await Self.measure(timing, mtu: 517, .withoutResponse)
        #expect(ceiling / time >= 0.95, "\(time) of \(ceiling)")
        let slow = try await Self.measure(timing, mtu: 517, .withResponse)
        #expect(slow.time > time * 2)
    }
}
