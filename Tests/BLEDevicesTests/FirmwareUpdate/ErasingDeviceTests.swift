import BLEDevices
import BLESimulator
import BLEStreams
import Synchronization
import Testing

@testable import BLEStreamsTests

/// A device with the plain protocol that erases a part of its memory before each window.
@Suite(.timeLimit(.minutes(10))) struct ErasingDeviceTests {
    private static let profile = FirmwareUpdateFlow.PlainProfile.standard

    /// Acts as a device that erases for 15 seconds, and notifies its status each second meanwhile.
    private static func serve(_ server: PeripheralServer, _ bench: Bench, _ device: ErasingDevice) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await read in server.reads(of: profile.status) { try read.respond(device.status.encoded) }
            }
            group.addTask {
                for try await write in server.writes(to: profile.control) {
                    write.accept()
                    guard write.value.first == 1 else { continue }
                    device.begin()
                    while device.status.state == .receiving {
                        for _ in 0..<15 {
                            try await bench.time.sleep(for: .seconds(1))
                            _ = try? await server.notify(device.status.encoded, of: profile.status, to: write.central)
                        }
                        device.grant()
                        _ = try? await server.notify(device.status.encoded, of: profile.status, to: write.central)
                    }
                }
            }
            group.addTask {
                for try await write in server.writes(to: profile.data) where write.acceptInTime() {
                    device.take(write.value)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a device that repeats its status while it erases, and then takes more, is not given up`() async throws {
        let image = try UpdateDevice.firmware(5000)
        let device = ErasingDevice(image)
        let service = PlainFirmwareReceiver(model: 7, capacity: 300_000).service
        let description = LocalPeripheral(name: "Erasing") { service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await Self.serve(server, bench, device)
        }
        try await Bench.run(description: description, serve: serve) { bench in
            let begin = bench.time.now
            try await bench.peripheral.withQueue { queue in
                let flow = FirmwareUpdateFlow(image, over: .plain(), patience: .seconds(20))
                try await queue.connecting().run(flow)
            }
            #expect(device.octets == image.bytes && bench.time.now - begin > .seconds(60))
        }
    }
}

/// What the device has, and how much it accepts.
private final class ErasingDevice: Sendable {
    private struct State {
        var octets: [UInt8] = []
        /// How many octets it accepts in all; `nil` before an update.
        var granted: Int?
    }

    private let image: FirmwareImage
    private let state = Mutex(State())

    init(_ image: FirmwareImage) { self.image = image }

    var octets: [UInt8] { state.withLock { $0.octets } }

    func begin() { state.withLock { $0 = State(granted: 0) } }

    func grant() {
        state.withLock { $0.granted = min(image.bytes.count, $0.octets.count + 1024) }
    }

    func take(_ part: [UInt8]) { state.withLock { $0.octets += part } }

    var status: PlainUpdateStatus {
        let (count, granted) = state.withLock { ($0.octets.count, $0.granted) }
        guard let granted else { return PlainUpdateStatus(state: .idle, model: 7, capacity: 300_000) }
        return PlainUpdateStatus(
            state: count == image.bytes.count ? .complete : .receiving,
            model: 7,
            capacity: 300_000,
            image: Array(image.sha256.prefix(4)),
            offset: UInt32(count),
            window: UInt32(granted - count)
        )
    }
}
