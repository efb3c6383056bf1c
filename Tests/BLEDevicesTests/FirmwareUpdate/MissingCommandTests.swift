import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices on MCUmgr whose firmware lacks commands of its image management.
@Suite(.timeLimit(.minutes(10))) struct MissingCommandTests {
    private static let service = MCUmgrFirmwareReceiver().service
    private static let unsupported = CBORValue.map(["rc": .integer(8)])

    /// Answers requests, and drops the link behind the answer to a reset.
    private static func serve(
        _ server: PeripheralServer,
        _ answer: (MCUmgrMessage) -> CBORValue
    ) async throws {
        let characteristic = service.characteristics[0].uuid
        var reassembler = MCUmgrReassembler()
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                guard let operation = request.operation.response else { continue }
                let body = answer(request)
                let message = MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body)
                try await server.notify(message.encoded, of: characteristic, to: write.central)
                if request.command == .reset { write.central.disconnect() }
            }
        }
    }

    @Test(arguments: [(8, "not supported (code 8)"), (5, "no such entry (code 5)")])
    func `one without image management can't be updated this way, and no reset is advised`(
        code: Int,
        words: String
    ) async throws {
        let image = try UpdateDevice.firmware(2000)
        let device = LocalPeripheral(name: "Shell") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server) { _ in .map(["rc": .integer(code)]) }
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let update = await bleError { try await queue.run(FirmwareUpdateFlow(image)) }
                let revert = await bleError { _ = try await queue.run(FirmwareRevertFlow(image)) }
                for error in [update, revert] {
                    #expect(error?.code == .notSupported && error?.cause.contains(words) == true)
                    #expect(error?.remedy.contains("Reset") == false && error?.remedy.isEmpty == false)
                }
            }
        }
    }

    /// As Mynewt, which has no code of its own for a command that it doesn't know.
    @Test func `one that has no entry for a question about its limits gets the image without an answer`() async throws {
        let image = try UpdateDevice.firmware(2000)
        let device = LocalPeripheral(name: "Mynewt") { Self.service }
        let received = Recorder<Int>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            var count = 0
            try await Self.serve(server) { request in
                switch (request.operation, request.command) {
                case (.read, .imageState):
                    let stored: [CBORValue.Member] = [
                        .init(.text("slot"), .integer(1)), .init(.text("hash"), .bytes(image.bootHash ?? [])),
                    ]
                    let listed: [CBORValue] = count == image.bytes.count ? [.map(stored)] : []
                    return .map(["images": .array(listed)])
                case (.write, .imageUpload):
                    if request.body["off"]?.integer == count { count += request.body["data"]?.bytes?.count ?? 0 }
                    received.add(count)
                    return .map(["rc": .integer(0), "off": .integer(count)])
                default: return .map(["rc": .integer(5)])
                }
            }
        }
        let flow = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)))
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in try await queue.connecting().run(flow) }
        }
        #expect(received.all.last == image.bytes.count)
    }

    /// As Zephyr does with an image without a hash of its kind: the upload succeeds.
    @Test func `one that does not list what was uploaded is told with the hash, which nobody signs`() async throws {
        let image = try UpdateDevice.firmware(2000)
        let device = LocalPeripheral(name: "Silent") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            var count = 0
            try await Self.serve(server) { request in
                switch (request.operation, request.command) {
                case (.read, .imageState): return .map(["images": .array([])])
                case (.write, .imageUpload):
                    if request.body["off"]?.integer == count { count += request.body["data"]?.bytes?.count ?? 0 }
                    return .map(["off": .integer(count)])
                default: return Self.unsupported
                }
            }
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(FirmwareUpdateFlow(image)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("does not list the image") == true)
                #expect(error?.remedy.contains("hash") == true && error?.remedy.contains("signed") == false)
            }
        }
    }

    /// Answers as a device that confirms no image but the one that runs.
    private static func serveCareful(_ server: PeripheralServer, _ image: FirmwareImage) async throws {
        var (count, isPending, isRunning, isConfirmed) = (0, false, false, false)
        try await serve(server) { request in
            switch (request.operation, request.command) {
            case (.read, .imageState):
                let stored: [CBORValue.Member] = [
                    .init(.text("slot"), .integer(1)), .init(.text("hash"), .bytes(image.bootHash ?? [])),
                    .init(.text("pending"), .bool(isPending)), .init(.text("active"), .bool(isRunning)),
                    .init(.text("confirmed"), .bool(isConfirmed)),
                ]
                let listed: [CBORValue] = count == image.bytes.count ? [.map(stored)] : []
                return .map(["images": .array(listed)])
            case (.write, .imageState):
                let isForGood = request.body["confirm"]?.bool ?? false
                if isForGood, !isRunning { return .map(["err": .map(["group": .integer(1), "rc": .integer(32)])]) }
                if isForGood { isConfirmed = true } else { isPending = true }
                return .map([])
            case (.write, .imageUpload):
                if request.body["off"]?.integer == count { count += request.body["data"]?.bytes?.count ?? 0 }
                return .map(["off": .integer(count)])
            case (.write, .reset):
                (isRunning, isPending) = (isPending, false)
                return .map([])
            default: return unsupported
            }
        }
    }

    @Test func `one that confirms only what runs is updated as its refusal advises`() async throws {
        let image = try UpdateDevice.firmware(3000)
        let device = LocalPeripheral(name: "Careful") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serveCareful(server, image)
        }
        let careless = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .confirm)))
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let error = await bleError { try await queue.run(careless) }
                #expect(error?.code == .updateFailed && error?.cause.contains("confirmation is denied") == true)
                #expect(error?.remedy.contains("testAndConfirm") == true && error?.remedy.contains("Reset") == false)
                // What the remedy says.
                try await queue.run(FirmwareUpdateFlow(image))
                // It runs, and is confirmed.
                try await queue.run(careless)
            }
        }
    }

    /// As older versions of Zephyr with direct XIP: the newest image begins at the next reset, and stays.
    ///
    /// - Parameter listsThen: whether that image lists images, too.
    private static func serveNewest(
        _ server: PeripheralServer,
        _ image: FirmwareImage,
        _ restarts: Recorder<Int>,
        listsThen: Bool = true
    ) async throws {
        var (count, hasRestarted) = (0, false)
        try await serve(server) { request in
            switch (request.operation, request.command) {
            case (.read, .imageState) where listsThen || !hasRestarted:
                let new: [CBORValue.Member] = [
                    .init(.text("slot"), .integer(1)), .init(.text("hash"), .bytes(image.bootHash ?? [])),
                    .init(.text("pending"), .bool(!hasRestarted)), .init(.text("permanent"), .bool(!hasRestarted)),
                    .init(.text("active"), .bool(hasRestarted)),
                ]
                let listed: [CBORValue] = count == image.bytes.count ? [.map(new)] : []
                return .map(["images": .array(listed)])
            case (.write, .imageUpload):
                if request.body["off"]?.integer == count { count += request.body["data"]?.bytes?.count ?? 0 }
                return .map(["off": .integer(count)])
            case (.write, .reset):
                hasRestarted = true
                restarts.add(count)
                return .map([])
            default: return unsupported
            }
        }
    }

    @Test(arguments: [FirmwareUpdateFlow.MCUmgrOptions.Mode.testAndConfirm, .confirm])
    func `one without trials runs the new image, and needs no confirmation`(
        mode: FirmwareUpdateFlow.MCUmgrOptions.Mode
    ) async throws {
        let image = try UpdateDevice.firmware(3000)
        let device = LocalPeripheral(name: "Newest") { Self.service }
        // The octets that it had at each one.
        let restarts = Recorder<Int>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serveNewest(server, image, restarts)
        }
        let flow = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(flow)
                #expect(restarts.all == [image.bytes.count])
                // It runs already.
                try await queue.run(flow)
                #expect(restarts.all.count == 1)
            }
        }
    }

    @Test func `one whose new firmware can't manage images is not told as one that can't be updated`() async throws {
        let image = try UpdateDevice.firmware(3000)
        let device = LocalPeripheral(name: "Newest") { Self.service }
        let restarts = Recorder<Int>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serveNewest(server, image, restarts, listsThen: false)
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(FirmwareUpdateFlow(image)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("since its reset") == true)
                #expect(error?.cause.contains("not supported (code 8)") == true && restarts.all.count == 1)
            }
        }
    }
}
