import BLEProtocol
import BLERadio
import BLEStreams

/// Decides which octets of an image to send next, from the device's statuses; a value without I/O.
struct PlainUpload {
    let size: Int
    /// How many octets the device has.
    private(set) var confirmed: Int
    /// How many octets have been sent.
    private(set) var sent: Int
    private var limit: Int
    /// The device's offset when its status was read, and whether it has told of that, or of more, since then.
    private var start: Int
    private var isPresent = false

    /// Why a status is impossible.
    enum Fault: Error, Equatable {
        case wentBack(from: Int, to: Int)
        case beyondTheEnd(offset: Int, size: Int)
        case notSentYet(offset: Int, sent: Int)
    }

    /// Begins at the device's offset.
    init(size: Int, _ status: PlainUpdateStatus) throws(Fault) {
        self.size = size
        let offset = Int(status.offset)
        guard offset <= size else { throw .beyondTheEnd(offset: offset, size: size) }
        confirmed = offset
        sent = offset
        start = offset
        limit = min(size, offset + Int(status.window))
    }

    /// Records a status.
    mutating func take(_ status: PlainUpdateStatus) throws(Fault) {
        let offset = Int(status.offset)
        guard offset <= size else { throw .beyondTheEnd(offset: offset, size: size) }
        // One that was sent before, or for an earlier program on this link, may come behind the status that was read.
        if offset < start, !isPresent { return }
        isPresent = true
        guard offset >= confirmed else { throw .wentBack(from: confirmed, to: offset) }
        guard offset <= sent else { throw .notSentYet(offset: offset, sent: sent) }
        confirmed = offset
        limit = min(size, max(limit, offset + Int(status.window)))
    }

    /// Notes that the latest status was read: those that were sent before it may still come.
    mutating func hasRead() { (start, isPresent) = (confirmed, false) }

    /// The range of the next octets, up to a maximum length; `nil` while the device accepts no more.
    mutating func next(_ maximum: Int) -> Range<Int>? {
        guard sent < limit, maximum > 0 else { return nil }
        let end = min(limit, sent + maximum)
        defer { sent = end }
        return sent..<end
    }
}

/// The update by the plain protocol. See ``FirmwareUpdateFlow/PlainProfile``.
struct PlainUpdate: Sendable {
    let image: FirmwareImage
    let profile: FirmwareUpdateFlow.PlainProfile
    let model: UInt16?
    let kind: Link.WriteKind?
    let resume: RetryPolicy
    /// How long a device may tell nothing new.
    let patience: Duration

    private var size: Int { image.bytes.count }

    func run(in context: CommandContext) async throws {
        // The most octets that the device ever had, on whichever link.
        var farthest = 0
        do {
            try await context.resuming(resume) { try await transfer(&farthest, in: context) }
            // The new firmware, which begins whenever the device restarts, may have others, and no way to tell.
            context.peripheral.forgetServices()
        } catch let error as BLEError where error.code != .disconnected && error.code != .invalidArgument {
            // The device need not keep an image that will never be complete. Best effort: the first error is the one
            // thrown.
            try? await context.write([2], to: profile.control)
            throw error
        }
    }

    private func transfer(_ farthest: inout Int, in context: CommandContext) async throws {
        context.begin("prepare")
        var status = try await readStatus(in: context)
        try check(status, in: context)
        try await context.subscribe(to: profile.status, tellsOfLosses: true)
        if status.state == .complete, isNamed(in: status) { return context.unsubscribe(from: profile.status) }
        if status.state != .receiving || !isNamed(in: status) {
            status = try await announce(after: status, in: context)
        }
        try await send(status, &farthest, in: context)
        context.unsubscribe(from: profile.status)
    }

    /// Tells the device what it is to receive; returns the status with which it answers.
    private func announce(after last: PlainUpdateStatus, in context: CommandContext) async throws -> PlainUpdateStatus {
        try await context.write(announcement(last), to: profile.control)
        let end = context.timeline.now + patience
        while true {
            let told = try await nextStatus(before: end, in: context)
            var status = if let told { told } else { try await readStatus(in: context) }
            // The failure of an earlier attempt with this image, told late, or that of this one: the device knows.
            if status == last, status.state == .failed { status = try await readStatus(in: context) }
            if isOurs(status), status.state != .idle { return status }
        }
    }

    private func announcement(_ status: PlainUpdateStatus) -> [UInt8] {
        var writer = ByteWriter(capacity: 39)
        writer.uint8(1)
        writer.uint32(UInt32(size))
        writer.uint16(model ?? status.model)
        writer.append(image.sha256)
        return writer.bytes
    }

    private func send(
        _ first: PlainUpdateStatus,
        _ farthest: inout Int,
        in context: CommandContext
    ) async throws {
        try refuseFailure(first, context)
        var upload = try faults(in: context) { () throws(PlainUpload.Fault) in try PlainUpload(size: size, first) }
        let kind = try await writeKind(in: context)
        context.begin("upload", total: size, completed: upload.confirmed)
        // What a device that has restarted gets once more is no progress.
        func note() {
            guard upload.confirmed > farthest else { return }
            farthest = upload.confirmed
            context.achieved()
        }
        // The device may have got it on the last link, which was lost before it said so.
        note()
        var isComplete = first.state == .complete
        var losses = try losses(in: context)
        // A status that tells nothing new does not prolong the wait.
        var end = context.timeline.now + patience
        while !isComplete {
            let (news, isRead) = try await advance(&upload, kind, &losses, before: &end, in: context)
            for status in news {
                try refuseFailure(status, context)
                let before = upload.confirmed
                try faults(in: context) { () throws(PlainUpload.Fault) in try upload.take(status) }
                if upload.confirmed > before {
                    note()
                    context.progress(upload.confirmed, of: size)
                    end = context.timeline.now + patience
                }
                if status.state == .complete, upload.confirmed == size { isComplete = true }
            }
            if isRead { upload.hasRead() }
        }
    }

    /// Sends the next part or, while the device accepts none, waits for a status; reads it if one may be missing: the
    /// kernel has dropped PDUs of the link, or the subscription was made anew.
    ///
    /// - Returns: the statuses that have come, and whether this is one that was read.
    private func advance(
        _ upload: inout PlainUpload,
        _ kind: Link.WriteKind,
        _ losses: inout Int,
        before end: inout Duration,
        in context: CommandContext
    ) async throws -> (news: [PlainUpdateStatus], isRead: Bool) {
        if let range = upload.next(context.maximumWriteLength) {
            try await context.write(Array(image.bytes[range]), to: profile.data, kind)
            var news: [PlainUpdateStatus] = []
            while let event = context.available() {
                if let status = try status(of: event, context) { news.append(status) }
            }
            end = context.timeline.now + patience
            return (news, false)
        }
        if upload.confirmed == size { context.begin("verify") }
        let mayLack = try self.losses(in: context) != losses && context.timeline.now < end
        if !mayLack, let status = try await nextStatus(before: end, in: context) { return ([status], false) }
        losses = try self.losses(in: context)
        let status = try await readStatus(in: context)
        return (isOurs(status) ? [status] : [], true)
    }

    /// How often a status may have been lost on this link.
    private func losses(in context: CommandContext) throws -> Int {
        let link = try context.link
        return link.droppedPDUs + link.movedSubscriptions
    }

    private func writeKind(in context: CommandContext) async throws -> Link.WriteKind {
        if let kind { return kind }
        return try await context.properties(of: profile.data).contains(.writeWithoutResponse)
            ? .withoutResponse : .withResponse
    }

    // MARK: - Statuses

    private func readStatus(in context: CommandContext) async throws -> PlainUpdateStatus {
        do {
            return try decode(try await context.read(profile.status), context)
        } catch let error as BLEError where error.code == .notFound {
            let cause = "the device doesn't have the status of the plain protocol, the characteristic \(profile.status)"
            throw BLEError.cannotUpdate(context, cause)
        }
    }

    /// The next status of this image; those of another one do not prolong the wait. `nil` where one may be missing:
    /// it is to be read, but not from a device that has told nothing new for so long, however many losses follow.
    private func nextStatus(before end: Duration, in context: CommandContext) async throws -> PlainUpdateStatus? {
        do {
            while true {
                let heard = try await context.valueOrLoss(timeout: max(.zero, end - context.timeline.now))
                guard let (value, source) = heard else {
                    if context.timeline.now < end { return nil }
                    continue
                }
                guard source == profile.status.reference else { continue }
                let status = try decode(value, context)
                if isOurs(status) { return status }
            }
        } catch var error as BLEError where error.code == .timedOut {
            // The last wait was shorter, and the device may have repeated what it has said before.
            error.cause = "the device has reported nothing new within \(patience)"
            error.elapsed = patience
            throw error
        }
    }

    private func status(of event: CommandContext.Event, _ context: CommandContext) throws -> PlainUpdateStatus? {
        switch event {
        case .received(let value, profile.status.reference):
            let status = try decode(value, context)
            return isOurs(status) ? status : nil
        case .linkLost(let error): throw error
        default: return nil
        }
    }

    /// Whether a status is about this image. A device may notify late what it has received before; one that has refused
    /// or abandoned this image has none, and need not name it.
    private func isOurs(_ status: PlainUpdateStatus) -> Bool {
        switch status.state {
        case .idle, .failed: isNamed(in: status) || status.image.allSatisfy { $0 == 0 }
        case .receiving, .complete: isNamed(in: status)
        }
    }

    private func isNamed(in status: PlainUpdateStatus) -> Bool { status.image.elementsEqual(image.sha256.prefix(4)) }

    private func decode(_ value: CharacteristicValue, _ context: CommandContext) throws -> PlainUpdateStatus {
        if let status = PlainUpdateStatus(value) { return status }
        var error = BLEError.update(
            .malformedValue,
            context,
            "the device sent a status that can't be read",
            BLEError.faultyFirmware
        )
        error.received = Array(value)
        throw error
    }

    // MARK: - Refusals

    private func check(_ status: PlainUpdateStatus, in context: CommandContext) throws {
        guard size <= Int(status.capacity) else {
            throw BLEError.update(
                .invalidArgument,
                context,
                "the image has \(size) octets, but the device accepts \(status.capacity) at most",
                "Choose the image that is built for this device."
            )
        }
        guard model == nil || model == status.model else {
            throw BLEError.update(
                .invalidArgument,
                context,
                "the image is for model \(model ?? 0), but the device is model \(status.model)",
                "Choose the image that is built for this device."
            )
        }
    }

    private func refuseFailure(_ status: PlainUpdateStatus, _ context: CommandContext) throws {
        guard status.state == .failed else { return }
        throw BLEError.update(
            .updateFailed,
            context,
            "the device says: \(status.failure)",
            "Check the device's log for details."
        )
    }

    private func faults<Output>(
        in context: CommandContext,
        _ body: () throws(PlainUpload.Fault) -> Output
    ) throws -> Output {
        do throws(PlainUpload.Fault) {
            return try body()
        } catch {
            let cause =
                switch error {
                case .wentBack(let from, let to): "the device had \(from) octets, and now reports \(to)"
                case .beyondTheEnd(let offset, let size): "the device requests octet \(offset) of \(size)"
                case .notSentYet(let offset, let sent): "the device reports \(offset) octets, but \(sent) were sent"
                }
            throw BLEError.update(.protocolViolation, context, cause, BLEError.faultyFirmware)
        }
    }
}

extension BLEError {
    static func update(_ code: Code, _ context: CommandContext, _ cause: String, _ remedy: String = "") -> BLEError {
        BLEError(code, operation: "update", object: "\(context.peripheral)", cause: cause, remedy: remedy)
    }
}
