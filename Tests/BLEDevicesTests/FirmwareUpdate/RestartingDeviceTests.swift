import BLEDevices
import BLESimulator
import BLEStreams
import Synchronization
import Testing

@testable import BLEStreamsTests

/// Updates of devices that restart in the middle and forget what they have, and links that carry little each.
@Suite(.timeLimit(.minutes(10))) struct RestartingDeviceTests {
    /// How many octets a device takes before it restarts.
    private static let room = 4000
    /// The most restarts: an update that never gives up succeeds behind them.
    private static let most = 20
    private static let mcumgr = MCUmgrFirmwareReceiver().service
    private static let profile = FirmwareUpdateFlow.PlainProfile.standard

    /// Acts as a device with MCUmgr.
    private static func serveMCUmgr(
        _ server: PeripheralServer,
        _ image: FirmwareImage,
        _ restarts: Recorder<Int>
    ) async throws {
        let characteristic = mcumgr.characteristics[0].uuid
        var reassembler = MCUmgrReassembler()
        var octets: [UInt8] = []
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                guard let operation = request.operation.response else { continue }
                if request.command == .imageUpload, request.body["off"]?.integer == octets.count {
                    octets += request.body["data"]?.bytes ?? []
                }
                if octets.count > room, restarts.all.count < most {
                    octets = []
                    restarts.add(restarts.all.count)
                    write.central.disconnect()
                    continue
                }
                let listed: [CBORValue] =
                    octets.count == image.bytes.count ? [.map(["hash": .bytes(image.bootHash ?? [])])] : []
                let body: CBORValue =
                    switch request.command {
                    case .imageState: .map(["images": .array(listed)])
                    case .imageUpload: .map(["off": .integer(octets.count)])
                    default: .map(["rc": .integer(8)])
                    }
                let answer = MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body)
                _ = try? await server.notify(answer.encoded, of: characteristic, to: write.central)
            }
        }
    }

    /// Acts as a device with the plain protocol.
    private static func servePlain(
        _ server: PeripheralServer,
        _ image: FirmwareImage,
        _ restarts: Recorder<Int>
    ) async throws {
        let device = ForgetfulDevice(image)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await read in server.reads(of: profile.status) { try read.respond(device.status.encoded) }
            }
            group.addTask {
                for try await write in server.writes(to: profile.control) {
                    write.accept()
                    device.begin(isUpdate: write.value.first == 1)
                    _ = try? await server.notify(device.status.encoded, of: profile.status, to: write.central)
                }
            }
            group.addTask {
                for try await write in server.writes(to: profile.data) where write.acceptInTime() {
                    device.take(write.value.count)
                    if Int(device.status.offset) > room, restarts.all.count < most {
                        device.begin(isUpdate: false)
                        restarts.add(restarts.all.count)
                        write.central.disconnect()
                    } else {
                        _ = try? await server.notify(device.status.encoded, of: profile.status, to: write.central)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [false, true])
    func `what a device gets again because it has forgotten it is no progress`(isPlain: Bool) async throws {
        let (image, restarts) = (try UpdateDevice.firmware(10_000), Recorder<Int>())
        let plain = PlainFirmwareReceiver(model: 7, capacity: 300_000).service
        let device = LocalPeripheral(name: "Forgetful") { isPlain ? plain : Self.mcumgr }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            if isPlain {
                try await Self.servePlain(server, image, restarts)
            } else {
                try await Self.serveMCUmgr(server, image, restarts)
            }
        }
        try await Bench.run(description: device, serve: serve) { bench in
            let flow = FirmwareUpdateFlow(
                image,
                over: isPlain ? .plain() : .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)),
                resume: .constant(.seconds(1), attempts: 3)
            )
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(flow) }
                #expect(error?.code == .disconnected)
            }
        }
        // The last link may bring some more octets than the ones before, once.
        #expect((4...8).contains(restarts.all.count), "\(restarts.all.count)")
    }

    @Test func `what a device tells only on the next link is progress`() async throws {
        // Its window holds the whole image: it says nothing before its end.
        let (device, image) = (UpdateDevice(window: 200_000), try UpdateDevice.firmware(100_000))
        try await device.run { bench in
            bench.air.faults.add(.dropLink(after: 14, .writeCommands).always())
            let flow = FirmwareUpdateFlow(image, over: .plain(), resume: .constant(.seconds(1), attempts: 3))
            try await bench.peripheral.withQueue { queue in try await queue.connecting().run(flow) }
            #expect(device.plain.image == image.bytes)
        }
    }
}

/// What a device with the plain protocol has got, as far as it has not forgotten it.
private final class ForgetfulDevice: Sendable {
    private let image: FirmwareImage
    private let offset = Mutex<Int?>(nil)

    init(_ image: FirmwareImage) { self.image = image }

    /// - Parameter isUpdate: whether an image follows.
    func begin(isUpdate: Bool) { offset.withLock { $0 = isUpdate ? 0 : nil } }

    func take(_ count: Int) { offset.withLock { $0 = $0.map { $0 + count } } }

    var status: PlainUpdateStatus {
        guard let offset = self.offset.withLock({ $0 }) else {
            return PlainUpdateStatus(state: .idle, model: 7, capacity: 300_000)
        }
        return PlainUpdateStatus(
            state: offset == image.bytes.count ? .complete : .receiving,
            model: 7,
            capacity: 300_000,
            image: Array(image.sha256.prefix(4)),
            offset: UInt32(offset),
            window: 1024
        )
    }
}
