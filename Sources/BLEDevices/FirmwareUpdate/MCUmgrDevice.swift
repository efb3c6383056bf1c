import BLEProtocol
import BLERadio
import BLEStreams

/// What an update of a device and its end have in common: its images, its resets, and its answers.
struct MCUmgrDevice: Sendable {
    let options: FirmwareUpdateFlow.MCUmgrOptions
    let resume: RetryPolicy

    /// One image in a slot, as the device lists it.
    struct Slot: Equatable {
        var slot: Int
        var hash: [UInt8]?
        var isActive = false
        var isConfirmed = false
        var isPending = false
        /// Whether it is pending for good, not for a trial.
        var isPermanent = false
    }

    /// Subscribes to the device's answers: whoever asks for it unsubscribes.
    ///
    /// - Parameter hasReset: whether the flow has reset the device before: it may run another firmware now.
    func exchange(in context: CommandContext, hasReset: Bool = false) async throws -> MCUmgrExchange {
        do {
            return try await MCUmgrExchange(
                in: context,
                patience: options.patience,
                retry: options.retry,
                hasReset: hasReset
            )
        } catch let error as BLEError where error.code == .notFound {
            let lack = "doesn't have the characteristic of MCUmgr"
            throw hasReset ? BLEError.newFirmware(lack, context) : BLEError.cannotUpdate(context, "the device \(lack)")
        }
    }

    /// Resets the device, which drops the link.
    ///
    /// - Returns: whether the device has answered. If not, it may have reset before its answer, or the link was lost
    ///   before the request arrived: only the device knows.
    func reset(_ exchange: MCUmgrExchange, _ context: CommandContext) async throws -> Bool {
        context.begin("reset")
        do {
            _ = try await exchange.request(.write, .reset)
            return true
        } catch let error as BLEError where error.code == .disconnected {
            forgetServices(context)
            return false
        }
    }

    /// Another firmware may have other services, and no way to tell: a device without a Database Hash would be believed
    /// to have the former ones, and what follows its reset would be written to wherever their handles lead now.
    private func forgetServices(_ context: CommandContext) { context.peripheral.forgetServices() }

    /// Waits until the device has dropped the link.
    func waitForReset(_ context: CommandContext) async throws {
        // While the link is up, it may store them.
        defer { forgetServices(context) }
        guard context.isConnected else { return }
        let (patience, end) = (options.resetPatience, context.timeline.now + options.resetPatience)
        while true {
            guard case .linkLost = try await context.next(before: end, of: patience) else { continue }
            return
        }
    }

    /// Connects to the device once it accepts connections again, or waits for a session that does. Attempts take
    /// different times, so the limit is a time and not their number.
    func reconnect(in context: CommandContext) async throws {
        let end = context.timeline.now + options.resetPatience
        while true {
            do {
                let rest = max(.zero, end - context.timeline.now)
                return try await context.reconnect(.constant(.zero, attempts: 0), within: rest)
            } catch let error as BLEError where !error.isFinal && context.timeline.now + .seconds(1) < end {
                try await pause(for: .seconds(1), on: context.timeline)
            }
        }
    }
}

extension MCUmgrExchange {
    /// The images that the device lists, of its first processor.
    func slots() async throws -> [MCUmgrDevice.Slot] {
        let answer: CBORValue
        do {
            answer = try await request(.read, .imageState)
        } catch let failure as MCUmgrFailure where hasReset && failure.isUnsupported {
            throw BLEError.newFirmware("doesn't list its images, and says: \(failure)", context)
        }
        return (answer["images"]?.array ?? []).filter { ($0["image"]?.integer ?? 0) == 0 }.map { image in
            MCUmgrDevice.Slot(
                slot: image["slot"]?.integer ?? 0,
                hash: image["hash"]?.bytes,
                isActive: image["active"]?.bool ?? false,
                isConfirmed: image["confirmed"]?.bool ?? false,
                isPending: image["pending"]?.bool ?? false,
                isPermanent: image["permanent"]?.bool ?? false
            )
        }
    }
}

extension BLEError {
    /// What a device has answered, with what to do about it.
    static func update(_ failure: MCUmgrFailure, _ context: CommandContext) -> BLEError {
        let size = context.maximumWriteLength
        if failure.isCut, context.isConnected, size < MCUmgrExchange.leastRequest {
            return .update(
                .updateFailed,
                context,
                "a write of this link has \(size) octets at most, and the device takes no request in several writes: "
                    + "it says \(failure)",
                "End the link if it was up before the program began: a new one may have a larger MTU. Otherwise the "
                    + "firmware needs CONFIG_MCUMGR_TRANSPORT_BT_REASSEMBLY, or a larger CONFIG_BT_L2CAP_TX_MTU."
            )
        }
        let code = failure.isUnsupported ? BLEError.Code.notSupported : .updateFailed
        return .update(code, context, "the device says: \(failure)", remedy(for: failure))
    }

    /// The same for a part of an image, with what the device has listed before: that tells why it has no slot.
    ///
    /// Source: Zephyr, `img_mgmt_slot_in_use`: an erasure is refused for the same reasons as an upload.
    static func update(_ failure: MCUmgrFailure, _ context: CommandContext, listed slots: [MCUmgrDevice.Slot])
        -> BLEError
    {
        var error = update(failure, context)
        guard failure.slotInUse == .taken else { return error }
        if slots.contains(where: \.isPending) {
            error.remedy =
                "Reset the device so that it runs the pending image, then try again: before that, it lets nobody "
                + "replace or erase that image."
        } else if slots.contains(where: { $0.isActive && !$0.isConfirmed }) {
            error.remedy =
                "End the trial of the running image, then try again: confirm that image, by updating to it in the mode "
                + "testAndConfirm, or reset the device, which returns to its previous image."
        }
        return error
    }

    /// What runs since the reset can't tell of images: not a device that can't be updated, but an update that failed.
    fileprivate static func newFirmware(_ lack: String, _ context: CommandContext) -> BLEError {
        .update(
            .updateFailed,
            context,
            "the firmware that the device runs since its reset \(lack)",
            "Build it with MCUmgr over Bluetooth and with image management: without them, it can neither be confirmed "
                + "nor updated. A trial of it ends at the device's next restart."
        )
    }

    /// Without an image that MCUboot can start, there is nothing to send, or to return from.
    static func noImageForMCUboot(_ context: CommandContext) -> BLEError {
        .update(
            .invalidArgument,
            context,
            "the file is not a complete image for the boot loader MCUboot",
            "Choose the signed binary of the build: zephyr.signed.bin, or app_update.bin."
        )
    }

    private static func remedy(for failure: MCUmgrFailure) -> String {
        if failure.isDowngrade {
            return "Choose an image with a higher version: the device takes none that is older than what it runs."
        }
        if failure.isTooLarge || failure.isWrongImage { return "Choose the image built for this device." }
        if failure.isUnsupported {
            return "Ask the device's manufacturer how it is updated: its firmware lacks a command that this requires."
        }
        if failure.isConfirmationDenied {
            return "Use the mode testAndConfirm: the device confirms an image only while it runs."
        }
        if failure.isHeldByUpload {
            return "Try again when the other upload is done; if nobody continues it, reset the device first."
        }
        // Buffers that are still missing after many pauses have been lost.
        if failure.isPassing, !failure.lacksBuffers {
            return "Try again when the device has finished its current operation."
        }
        return switch failure.slotInUse {
        case .none: "Reset the device, and try again."
        case .pending: "Reset the device so that it runs the pending image, or erase that image; then try again."
        case .taken:
            "Free a slot, then try again: confirm the running image, by updating to the same image in the mode "
                + "testAndConfirm, or erase the other slot with the command image erase of MCUmgr."
        }
    }
}
