import BLEDevices
import BLEStreams

/// Updates a device's firmware.
struct Update: Command {
    static let name = "update"
    static let summary = "update a device's firmware: MCUmgr (Zephyr), or the plain protocol of BLEStreams"
    static let parameters = ["ADDRESS", "FILE"]
    static let options =
        [
            Option("mode", value: "MODE", help: "MCUmgr: upload, test, confirm or testAndConfirm (default)"),
            Option("window", value: "N", help: "MCUmgr: the number of requests under way; default: as the device says"),
            Option("plain", help: "use the plain protocol, even if the device has MCUmgr"),
            Option("model", value: "N", help: "the plain protocol: the model that the image is for"),
            Option("revert", help: "MCUmgr: end the trial of FILE: the device returns to its previous image"),
            Option.deadline,
        ] + SecurityOptions.options
    static let notes = """
        When the link is lost, the upload continues where the device says. On a terminal a bar shows the progress. If
        standard output is a pipe or a file, or with --json, it has a line of JSON for each percent, and one for each
        other phase.


        """ + SecurityOptions.notes

    private let peripheral: PeripheralName
    private let path: String
    private let method: FirmwareUpdateFlow.Method
    private let isRevert: Bool
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        path = words[1]
        if path.isEmpty { throw UsageError("FILE needs the name of a file") }
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
        var model: UInt16?
        if let text = arguments.last("model") {
            guard let number = UInt16(text) else {
                throw UsageError("--model '\(text)': that is not a number up to 65535")
            }
            model = number
        }
        var options = FirmwareUpdateFlow.MCUmgrOptions()
        if let text = arguments.last("mode") {
            guard let mode = FirmwareUpdateFlow.MCUmgrOptions.Mode(rawValue: text) else {
                let modes = FirmwareUpdateFlow.MCUmgrOptions.Mode.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("--mode '\(text)': the modes are \(modes)")
            }
            options.mode = mode
        }
        options.window = try arguments.count("window")
        let isMCUmgr = arguments.has("mode") || arguments.has("window")
        let isPlain = arguments.has("plain") || model != nil
        if isMCUmgr, isPlain { throw UsageError("--mode and --window are for MCUmgr, --plain and --model are not") }
        isRevert = arguments.has("revert")
        if isRevert, isMCUmgr || isPlain {
            throw UsageError("--revert uploads nothing: --mode, --window, --plain and --model have no meaning with it")
        }
        method = isPlain ? .plain(model: model) : isMCUmgr ? .mcumgr(options) : .automatic
    }

    func run(in environment: CommandEnvironment) async throws {
        // Before any request to the device.
        let image = try FirmwareImage(file: path)
        environment.log.detail("\(path): \(image.bytes.count) octets" + (image.version.map { ", version \($0)" } ?? ""))
        let progress = UpdateProgress(environment.output, environment.log)
        do {
            if isRevert {
                try tell(try await run(FirmwareRevertFlow(image), in: environment, progress), progress, environment.log)
            } else {
                try await run(FirmwareUpdateFlow(image, over: method), in: environment, progress)
                try progress.complete(image.bytes.count)
            }
        } catch {
            progress.brokenOff()
            if error is CancellationError {
                environment.log.say("interrupted; the same command continues where the device says")
            }
            throw error
        }
    }

    private func run<Flow: BLEStreams.Command>(
        _ flow: Flow,
        in environment: CommandEnvironment,
        _ progress: UpdateProgress
    ) async throws -> Flow.Output {
        let name = self.peripheral
        let peripheral = try environment.peripheral(name)
        peripheral.allowPairing(environment.answers(security, about: name.text))
        let former = peripheral.bond
        return try await environment.talkingAbout(peripheral) {
            try await peripheral.withQueue { queue in
                let flows = secured(queue.connecting(timeout: limit ?? .seconds(30)))
                defer { environment.tellOfBond(with: peripheral, former, name) }
                return try await flows.run(flow, replacing: .activeFlow, deadline: limit) { progress.show($0) }
            }
        }
    }

    /// The same queue, which first makes each link as secure as it must be.
    private func secured(_ queue: CommandQueue) -> CommandQueue {
        guard let level = security.level else { return queue }
        let patience = max(limit ?? .zero, .seconds(60))
        return queue.authorizing { link in try await link.secure(to: level, timeout: patience) }
    }

    private func tell(_ outcome: FirmwareRevertFlow.Outcome, _ progress: UpdateProgress, _ log: Log) throws {
        switch outcome {
        case .reverted:
            // The device's answer is told even if the last line can't be written.
            defer { log.say("the device does not run the image of \(path)") }
            try progress.complete(nil)
        case .confirmed:
            throw BLEError(
                .updateFailed,
                operation: "update",
                object: "on \(peripheral.text)",
                cause: "the device runs the image of \(path), which is confirmed: a reset does not end it",
                remedy: "Update the device to its previous image."
            )
        }
    }
}
