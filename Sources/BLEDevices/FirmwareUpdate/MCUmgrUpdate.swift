import BLEProtocol
public import BLEStreams

extension FirmwareUpdateFlow {
    /// How to update a device with MCUmgr.
    public struct MCUmgrOptions: Hashable, Sendable {
        /// What to do with the uploaded image.
        public enum Mode: String, Hashable, Sendable, CaseIterable {
            /// Nothing: leave it in its slot.
            case upload
            /// Mark it for one trial and reset the device; unless the image confirms itself, the previous one returns.
            case test
            /// Mark it for one trial, reset the device, and confirm the image once it runs.
            case testAndConfirm
            /// Mark it as permanent and reset the device. A broken image may leave the device unusable, so some
            /// devices refuse the mark. An image that runs on trial already is confirmed, without a reset.
            case confirm
        }

        /// What to do with the uploaded image.
        public var mode: Mode
        /// How many requests to send without waiting; `nil`: as many as the device reports, or one if it reports none.
        public var window: Int?
        /// How long an answer may take to begin, and each further part of it if it comes in several notifications.
        public var patience: Duration
        /// The same for the first answer to a part of the image, while the device erases its slot.
        public var erasePatience: Duration
        /// How long the device may take after its answer to a reset until it drops the link, and as long again until it
        /// can be connected to.
        public var resetPatience: Duration
        /// How often in a row, and after what pause, a request is repeated if the device is busy or does not answer;
        /// progress restarts the count.
        public var retry: RetryPolicy

        /// Sets the options; by default, the image is tried and then confirmed.
        public init(
            mode: Mode = .testAndConfirm,
            window: Int? = nil,
            patience: Duration = .seconds(10),
            erasePatience: Duration = .seconds(60),
            resetPatience: Duration = .seconds(120),
            retry: RetryPolicy = .exponential(attempts: 8)
        ) {
            self.mode = mode
            self.window = window
            self.patience = patience
            self.erasePatience = erasePatience
            self.resetPatience = resetPatience
            self.retry = retry
        }
    }
}

/// The update by the Simple Management Protocol. Source: Zephyr documentation, "Device Management".
struct MCUmgrUpdate: Sendable {
    let image: FirmwareImage
    let options: FirmwareUpdateFlow.MCUmgrOptions
    let resume: RetryPolicy
    /// The most resets, if the link is lost before each is carried out.
    private static let resets = 3
    private var device: MCUmgrDevice { MCUmgrDevice(options: options, resume: resume) }

    func run(in context: CommandContext) async throws {
        guard let hash = image.bootHash, image.isForMCUboot else { throw BLEError.noImageForMCUboot(context) }
        do {
            var (arrival, farthest) = (Arrival.none, 0)
            var outcome = try await context.resuming(resume) {
                try await install(hash, &arrival, &farthest, in: context)
            }
            var resets = 1
            while true {
                let isLast = resets == Self.resets
                switch (outcome, options.mode) {
                case (.mayRestart, _) where context.hasNextLink:
                    context.begin("restart")
                    try await device.reconnect(in: context)
                    outcome = try await context.resuming(resume) { try await restart(hash, isLast, in: context) }
                    resets += 1
                // What comes next in the queue is not to meet the former image, nor a link that is about to be lost.
                case (.isRestarting, .test), (.isRestarting, .confirm): return try await device.waitForReset(context)
                case (.settled, _), (_, .upload), (_, .test), (.mayRestart, .confirm): return
                case (.isRestarting, .testAndConfirm), (.mayRestart, .testAndConfirm):
                    context.begin("restart")
                    try await device.waitForReset(context)
                    outcome = try await confirm(hash, isLast, in: context)
                    resets += 1
                // On trial since an earlier update, or since a reset that was not answered.
                case (.isOnTrial, .testAndConfirm), (.isOnTrial, .confirm):
                    outcome = try await confirm(hash, isLast, in: context)
                }
            }
        } catch let failure as MCUmgrFailure {
            throw BLEError.update(failure, context)
        }
    }

    /// The state of the image.
    private enum Outcome {
        /// Nothing remains to be done.
        case settled
        /// It runs, but a reset would revert it.
        case isOnTrial
        /// The device resets itself, to run it.
        case isRestarting
        /// The link was lost before the device answered its reset.
        case mayRestart
    }

    /// What this update knows of the image that it has sent.
    private enum Arrival {
        /// It has sent nothing.
        case none
        /// The device may have all of it, and has not said whether it is right.
        case untold
        /// The device has it, and has not said that it is damaged.
        case complete
        /// The device has it, and says that it is damaged.
        case damaged
    }

    /// Uploads and marks the image, and resets the device, as far as that is still to be done.
    ///
    /// - Parameter farthest: the most octets that the device ever had, on whichever link.
    private func install(
        _ hash: [UInt8],
        _ arrival: inout Arrival,
        _ farthest: inout Int,
        in context: CommandContext
    ) async throws -> Outcome {
        context.begin("prepare")
        let exchange = try await device.exchange(in: context)
        defer { context.unsubscribe(from: MCUmgrExchange.characteristic) }
        var slots = try await exchange.slots()
        // It may run since an earlier update.
        if let outcome = self.outcome(in: slots) { return outcome }
        if arrival == .damaged { throw try await discard(hash, exchange, context) }
        // The device lists an image by the hash in its trailer, whether or not its octets are right: only the answer to
        // its last part tells. If that answer was lost with the link, the first part asks for it, by the hash of the
        // file. Source: Zephyr, `img_mgmt.c`.
        if arrival == .untold || !slots.contains(where: { $0.hash == hash }) {
            let window = try await negotiate(exchange, context)
            arrival = .untold
            do {
                arrival = try await upload(exchange, window, &farthest, context) ? .complete : .damaged
            } catch let failure as MCUmgrFailure {
                throw BLEError.update(failure, context, listed: slots)
            }
            if arrival == .damaged { throw try await discard(hash, exchange, context) }
            context.begin("verify")
            slots = try await exchange.slots()
        }
        guard let stored = slots.first(where: { $0.hash == hash }) else {
            throw BLEError.update(
                .updateFailed,
                context,
                "the device does not list the image that was uploaded",
                // Nobody has looked at a signature yet. Source: Zephyr, `img_mgmt_read_info`.
                "Check that the image is built for the device's boot loader: an image is listed only by a hash of the "
                    + "kind that this one uses, as SHA-256."
            )
        }
        guard options.mode != .upload else { return .settled }
        // An earlier update may have marked it for a trial only, or to stay, where the previous image is to return. A
        // device that can't take such a mark back refuses: the reset would begin the image for good.
        let isOtherMark = options.mode == .confirm ? !stored.isPermanent : options.mode == .test && stored.isPermanent
        if !stored.isPending || isOtherMark {
            context.begin(options.mode == .confirm ? "confirm" : "test")
            let state = CBORValue.map(["hash": .bytes(hash), "confirm": .bool(options.mode == .confirm)])
            _ = try await exchange.request(.write, .imageState, state)
        }
        return try await device.reset(exchange, context) ? .isRestarting : .mayRestart
    }

    /// Asks the device whether it runs the image since a reset that it has not answered; if that reset was lost, resets
    /// it again, unless that was the last one.
    private func restart(_ hash: [UInt8], _ isLast: Bool, in context: CommandContext) async throws -> Outcome {
        context.begin("prepare")
        let exchange = try await device.exchange(in: context, hasReset: true)
        defer { context.unsubscribe(from: MCUmgrExchange.characteristic) }
        let slots = try await exchange.slots()
        if let outcome = self.outcome(in: slots) { return outcome }
        return try await resetAgain(hash, slots, isLast, exchange, context)
    }

    /// Resets a device again that does not run the image, because the link was lost before its reset; unless that was
    /// the last one.
    private func resetAgain(
        _ hash: [UInt8],
        _ slots: [MCUmgrDevice.Slot],
        _ isLast: Bool,
        _ exchange: MCUmgrExchange,
        _ context: CommandContext
    ) async throws -> Outcome {
        // A reset takes the mark away: another one would install again what the boot loader has refused or reverted.
        guard slots.contains(where: { $0.hash == hash && $0.isPending }) else { throw BLEError.doesNotRun(context) }
        guard !isLast else {
            throw BLEError.update(
                .updateFailed,
                context,
                "the link was lost \(Self.resets) times before the device carried out its reset",
                "Bring the device nearer, and update it again: it has the image, and starts it at its next reset."
            )
        }
        return try await device.reset(exchange, context) ? .isRestarting : .mayRestart
    }

    /// The state of the image if it is the one that runs.
    private func outcome(in slots: [MCUmgrDevice.Slot]) -> Outcome? {
        guard let running = slots.first(where: { $0.isActive && $0.hash == image.installedHash }) else { return nil }
        return running.isConfirmed ? .settled : .isOnTrial
    }

    /// Connects again as soon as the device can be connected to, checks that it runs the image, and confirms the image.
    ///
    /// - Returns: ``Outcome/settled``; another if the device had not carried out its reset, and was reset again.
    private func confirm(_ hash: [UInt8], _ isLast: Bool, in context: CommandContext) async throws -> Outcome {
        if context.hasNextLink { try await device.reconnect(in: context) }
        return try await context.resuming(resume) {
            let exchange = try await device.exchange(in: context, hasReset: true)
            defer { context.unsubscribe(from: MCUmgrExchange.characteristic) }
            let slots = try await exchange.slots()
            guard let running = slots.first(where: { $0.isActive }), let installed = image.installedHash,
                running.hash == installed
            else {
                // The device resets itself some time after its answer: the link may have been lost before.
                return try await resetAgain(hash, slots, isLast, exchange, context)
            }
            guard !running.isConfirmed else { return .settled }
            context.begin("confirm")
            let state = CBORValue.map(["hash": .bytes(installed), "confirm": .bool(true)])
            // A device without the command has no trials: its boot loader begins the newest image, which stays. Source:
            // Zephyr, `img_mgmt.c`, with direct XIP.
            _ = try await optional { try await exchange.request(.write, .imageState, state) }
            return .settled
        }
    }

    // MARK: - Steps

    /// Erases an image that has arrived damaged: listed by the right hash, the next update would take it for right.
    ///
    /// - Returns: the error that ends the update.
    private func discard(
        _ hash: [UInt8],
        _ exchange: MCUmgrExchange,
        _ context: CommandContext
    ) async throws -> BLEError {
        var remedy = "Try again."
        do {
            if let stored = try await exchange.slots().first(where: { $0.hash == hash && !$0.isActive }) {
                guard !stored.isPending, !stored.isConfirmed else { return .damaged(Self.resetRemedy, context) }
                let slot = CBORValue.map(["slot": .integer(stored.slot)])
                _ = try await exchange.request(.write, .imageErase, slot, patience: options.erasePatience)
            }
        } catch let error where error is MCUmgrFailure || MCUmgrExchange.isPassing(error) {
            let reason = (error as? BLEError)?.cause ?? "\(error)"
            remedy =
                "Send another image with the mode upload, which replaces this one, and then try again: the device did "
                + "not erase the damaged one (\(reason)), and lists it as if it were right."
        }
        return .damaged(remedy, context)
    }

    /// Whoever has marked an image wants it, and another program may have sent it again since.
    private static let resetRemedy =
        "Reset the device, then try again: the image is marked to run at the next reset, so it was not erased, and the "
        + "boot loader refuses a damaged one."

    /// Asks the device for its limits: refuses an image that is too large, and returns the window.
    private func negotiate(_ exchange: MCUmgrExchange, _ context: CommandContext) async throws -> Int {
        if let answer = try await optional({ try await exchange.request(.read, .slotInfo) }) {
            let images = answer["images"]?.array ?? []
            let first = images.first { ($0["image"]?.integer ?? 0) == 0 }
            let sizes = (first?["slots"]?.array ?? []).compactMap { $0["size"]?.integer }
            if let room = first?["max_image_size"]?.integer ?? sizes.max(), image.bytes.count > room {
                throw BLEError.update(
                    .invalidArgument,
                    context,
                    "the image has \(image.bytes.count) octets, but the device accepts \(room) at most",
                    "Choose the image that is built for this device."
                )
            }
        }
        guard let answer = try await optional({ try await exchange.request(.read, .parameters) }) else {
            return options.window ?? 1
        }
        if let size = answer["buf_size"]?.integer, size >= 64 { exchange.limitRequests(to: size) }
        // One buffer is reserved for the answer.
        return options.window ?? (max(2, min(65, answer["buf_count"]?.integer ?? 2)) - 1)
    }

    /// The answer; `nil` if the device does not support the request.
    private func optional(_ request: () async throws -> CBORValue) async throws -> CBORValue? {
        do { return try await request() } catch let failure as MCUmgrFailure where failure.isUnsupported { return nil }
    }
}

extension BLEError {
    /// The device calls the image damaged that it has got.
    fileprivate static func damaged(_ remedy: String, _ context: CommandContext) -> BLEError {
        .update(.updateFailed, context, "the image that arrived has another hash", remedy)
    }

    /// After its reset, the device runs another image.
    fileprivate static func doesNotRun(_ context: CommandContext) -> BLEError {
        .update(
            .updateFailed,
            context,
            "the device does not run the new image after its reset",
            "Check the device's log: the boot loader refused the image, for example because it is signed with another "
                + "key or its version is not higher, or the image crashed."
        )
    }
}
