import BLEProtocol
import BLERadio
import BLEStreams

extension MCUmgrUpdate {
    /// Sends the image, from the octet that the device names.
    ///
    /// - Parameter farthest: the most octets that the device ever had, on whichever link.
    /// - Returns: whether the image has arrived as it was sent, as far as the device can tell.
    func upload(
        _ exchange: MCUmgrExchange,
        _ window: Int,
        _ farthest: inout Int,
        _ context: CommandContext
    ) async throws -> Bool {
        var isRight = true
        var upload = MCUmgrUpload(size: image.bytes.count, window: window)
        var persistence = Persistence(options.retry, on: context.timeline)
        // Only the first part waits for a slot to be erased; and the first smaller one, if the device may have dropped
        // those before.
        var mayErase = true
        context.begin("upload", total: upload.size)
        while !upload.isComplete {
            if let offset = upload.nextOffset {
                // If the device has nothing, the first part is sent whole again: its answer may have been lost.
                let body = part(offset, exchange.maximumRequest, isFirst: offset == 0)
                let sequence = try await exchange.send(.write, .imageUpload, body.value)
                upload.sent(sequence, count: body.count)
                continue
            }
            let before = upload.farthest
            do {
                let isErasing = upload.confirmed == 0 && mayErase
                let patience = isErasing ? options.erasePatience : options.patience
                let answer = try await exchange.answer(patience: patience) {
                    $0.command == .imageUpload && upload.isUnderWay($0.sequence)
                }
                isRight = try take(answer, &upload, context)
            } catch let error where MCUmgrExchange.isPassing(error) {
                mayErase = false
                if !(error is MCUmgrFailure) {
                    upload.timedOut()
                    // What it has taken of this size on this link, it takes again.
                    if upload.farthest == 0 { mayErase = exchange.shrinkRequests() }
                }
                persistence.note(error)
            }
            if upload.farthest > before {
                persistence.succeeded()
                mayErase = true
                // What a device that has restarted gets once more is no progress.
                if upload.farthest > farthest {
                    farthest = upload.farthest
                    context.achieved()
                }
                tell(upload, context)
            }
            if upload.needsPause {
                try await persistence.pause()
                upload.paused()
            }
        }
        return isRight
    }

    /// Reports how much the device has. What it had before is sent in no time: it doesn't count in the rate.
    private func tell(_ upload: MCUmgrUpload, _ context: CommandContext) {
        if upload.isResumed {
            context.begin("upload", total: upload.size, completed: upload.confirmed)
        } else {
            context.progress(upload.confirmed, of: upload.size)
        }
    }

    /// Handles the answer to a part.
    ///
    /// - Returns: whether the device doesn't say that the image it has now is damaged.
    /// - Throws: ``MCUmgrFailure`` if the device refuses a part; if it may be sent again, the upload has recorded the
    ///   refusal.
    private func take(
        _ answer: MCUmgrMessage,
        _ upload: inout MCUmgrUpload,
        _ context: CommandContext
    ) throws -> Bool {
        var failure = MCUmgrFailure(answer.body)
        failure?.mayLackSlot = upload.farthest == 0
        if let failure, !failure.isPassing { throw failure }
        do throws(MCUmgrUpload.Fault) {
            _ =
                failure == nil
                ? try upload.answered(answer.sequence, offset: answer.body["off"]?.integer)
                : try upload.refused(answer.sequence)
        } catch {
            throw BLEError.fault(error, context)
        }
        if let failure { throw failure }
        return answer.body["match"]?.bool != false
    }

    /// A request with as many octets of the image as fit.
    private func part(_ offset: Int, _ maximum: Int, isFirst: Bool) -> (value: CBORValue, count: Int) {
        func body(_ data: [UInt8]) -> CBORValue {
            var members: [CBORValue.Member] = []
            if isFirst {
                members.append(.init(.text("len"), .integer(image.bytes.count)))
                members.append(.init(.text("sha"), .bytes(image.sha256)))
            }
            members.append(.init(.text("off"), .integer(offset)))
            members.append(.init(.text("data"), .bytes(data)))
            return .map(members)
        }
        // The length of the data takes up to three octets; the empty one already includes one.
        let overhead = MCUmgrMessage.headerSize + body([]).encoded.count + 2
        let count = min(max(1, maximum - overhead), image.bytes.count - offset)
        return (body(Array(image.bytes[offset..<offset + count])), count)
    }
}

extension BLEError {
    fileprivate static func fault(_ fault: MCUmgrUpload.Fault, _ context: CommandContext) -> BLEError {
        let cause =
            switch fault {
            case .missingOffset: "the device does not say which octet it expects"
            case .beyondTheEnd(let offset, let size): "the device requests octet \(offset) of \(size)"
            case .stuck(let offset): "the device repeatedly returns to octet \(offset)"
            }
        return .update(.protocolViolation, context, cause, faultyFirmware)
    }

    /// The remedy if a device violates the protocol of its own update.
    static let faultyFirmware = "The device's firmware is faulty: report this to its manufacturer."
}
