import BLEProtocol
public import BLEStreams

/// Ends the trial of a new firmware: the device returns to its previous image.
///
/// ```swift
/// let image = try FirmwareImage(file: "app_update.bin")
/// let outcome = try await queue.run(FirmwareRevertFlow(image))
/// ```
///
/// With MCUmgr, an image that ``FirmwareUpdateFlow`` has installed in the mode `test` runs until the next reset, unless
/// it confirms itself: this flow resets the device. If the trial has not begun, a reset begins it and another one ends
/// it. The flow waits for the device between them, and asks it at the end. A confirmed image stays: update to the
/// previous one instead. One that is marked to stay, and has not begun, is not begun: the flow fails.
///
/// The phases of its progress: `prepare`, `reset`, `restart`.
///
/// - Throws (when run): ``BLEError/Code/invalidArgument`` before anything is sent, if the image is not for MCUboot;
///   ``BLEError/Code/updateFailed`` with the device's reason, or if it doesn't return;
///   ``BLEError/Code/disconnected`` or ``BLEError/Code/timedOut`` if it doesn't come back after its reset;
///   ``BLEError/Code/notSupported`` if it has no MCUmgr, or one without images; `CancellationError`. After an error
///   the flow has unsubscribed, and can be run again.
public struct FirmwareRevertFlow: Command {
    /// What the device runs at the end.
    public enum Outcome: Hashable, Sendable {
        /// Another image than the given one, which no reset begins. A trial of that other image goes on.
        case reverted
        /// The given image, since it is confirmed.
        case confirmed
    }

    /// The most resets: one begins a trial that is pending, one ends it, and one may be lost.
    private static let resets = 3

    public var name: String { "revert" }

    /// The image to return from.
    public let image: FirmwareImage
    private let device: MCUmgrDevice

    /// Describes the return from an image.
    ///
    /// - Parameters:
    ///   - image: the one whose trial ends.
    ///   - options: how long to wait for answers and resets; the mode and the window have no effect.
    ///   - resume: how often in a row, and after what pause, to reconnect when the link is lost.
    public init(
        _ image: FirmwareImage,
        options: FirmwareUpdateFlow.MCUmgrOptions = FirmwareUpdateFlow.MCUmgrOptions(),
        resume: RetryPolicy = .exponential(attempts: 8)
    ) {
        self.image = image
        device = MCUmgrDevice(options: options, resume: resume)
    }

    public func run(in context: CommandContext) async throws -> Outcome {
        guard let hash = image.bootHash, image.isForMCUboot else { throw BLEError.noImageForMCUboot(context) }
        do {
            for number in 0...Self.resets {
                let outcome = try await context.resuming(device.resume) { try await step(hash, number, context) }
                if let outcome { return outcome }
                if number == Self.resets { break }
                context.begin("restart")
                try await device.waitForReset(context)
                if context.hasNextLink { try await device.reconnect(in: context) }
            }
        } catch let failure as MCUmgrFailure {
            throw BLEError.update(failure, context)
        }
        throw BLEError.update(
            .updateFailed,
            context,
            "the device does not return to its previous image, after \(Self.resets) resets",
            "Update the device to its previous image, which its boot loader may not have kept."
        )
    }

    /// The outcome; `nil` if there is none yet, and the device resets itself.
    ///
    /// - Parameter number: how often it was reset before.
    private func step(_ hash: [UInt8], _ number: Int, _ context: CommandContext) async throws -> Outcome? {
        context.begin("prepare")
        let exchange = try await device.exchange(in: context, hasReset: number > 0)
        defer { context.unsubscribe(from: MCUmgrExchange.characteristic) }
        let slots = try await exchange.slots()
        guard let running = slots.first(where: \.isActive) else {
            throw BLEError.update(
                .protocolViolation,
                context,
                "the device lists no image that runs",
                BLEError.faultyFirmware
            )
        }
        if running.hash == image.installedHash {
            if running.isConfirmed { return .confirmed }
        } else {
            guard let next = slots.first(where: { $0.hash == hash && $0.isPending }) else { return .reverted }
            // A reset would do the opposite.
            if next.isPermanent {
                throw BLEError.update(
                    .updateFailed,
                    context,
                    "the image is marked as permanent, and the next reset starts it",
                    "Reset the device, and update it to its previous image."
                )
            }
        }
        // Whether it has answered or not, the next step asks what it runs.
        if number < Self.resets { _ = try await device.reset(exchange, context) }
        return nil
    }
}
