import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Updates over links whose writes hold less than a request: those without an exchange of the MTU, and those that a
/// program finds up when it begins, as after `kill -9`.
@Suite(.timeLimit(.minutes(10))) struct NarrowLinkUpdateTests {
    @Test(arguments: [23, 65, 130, 131]) func `a request takes several writes where one holds too little`(mtu: Int)
        async throws
    {
        let image = try UpdateDevice.firmware(20_000)
        let device = UpdateDevice()
        let elapsed = try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let near = air.adapter(settings: AdapterSettings(maximumPDUSize: mtu))
            let far = air.adapter()
            let central = try await Central.open(.radio(near))
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.description.run(on: far) { try await device.mcumgr.run(on: $0) } }
                defer { group.cancelAll() }
                let begin = time.now
                let peripheral = central.peripheral(far.address)
                try await peripheral.withQueue { queue in
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
                }
                return time.now - begin
            }
        }
        #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        #expect(elapsed < .seconds(60), "a request carries hardly anything of the image: \(elapsed)")
    }
}
