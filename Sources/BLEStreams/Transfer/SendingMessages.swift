import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// Sends a message and its end mark as notifications, in chunks as large as the link carries.
    ///
    /// ```swift
    /// let story = BluetoothUUID(0xFFF1)
    /// let teller = LocalPeripheral(name: "Teller") {
    ///     LocalService(BluetoothUUID(0xFFF0)) { LocalCharacteristic(story, [.notify]) }
    /// }
    /// try await teller.run { server in
    ///     for try await change in server.subscriptions(of: story) where change.isSubscribed {
    ///         try await server.send("Once upon a time …".utf8, of: story, to: change.central) { progress in
    ///             print("\(progress)")
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// This one is for one central: it ends with the message that a central doesn't wait for. Where there may be
    /// others, catch ``BLEError/Code/disconnected``, ``BLEError/Code/notSupported`` and
    /// ``BLEError/Code/overflow``, each of which one central may cause, and send to each in a task of its own.
    ///
    /// It returns when the radio has the last chunk. Only a few chunks wait for the radio at a time, whatever else is
    /// sent to the central.
    ///
    /// The message is cut so that no data looks like the mark, so the central can't mistake data for the end. Send one
    /// message of a characteristic at a time, and nothing else of it meanwhile: the chunks would be mixed with that.
    ///
    /// If it is cancelled or fails midway, the central has the beginning of a message and gets no mark: it would take
    /// the next message for the rest of that one. So that one is refused, and the link dropped, unless the central has
    /// subscribed anew in between.
    ///
    /// Where an error is final (``BLEError/isFinal``), don't repeat the message on this link: the central may have a
    /// part of it, or may still get its rest, and would then get the message twice. So it is with some errors of the
    /// code ``BLEError/Code/busy``; after one that is not final, the central has nothing of the message. In each case
    /// you can drop the link with ``ConnectedCentral/disconnect()``, and send the message again when the central has
    /// subscribed again.
    ///
    /// - Parameters:
    ///   - message: any number of octets, including none.
    ///   - key: the characteristic, to which the central has subscribed.
    ///   - central: the recipient.
    ///   - mark: how the message ends; by default "EOM" as a chunk of its own.
    ///   - beginsAnew: whether the message may follow a part of another one on the same link, because your protocol
    ///     has a way to tell the central that it begins anew.
    ///   - onProgress: called after each chunk with the number of octets of the message that are waiting for the radio
    ///     or were taken by it; with all of them only once it has also taken the mark.
    /// - Throws: ``BLEError/Code/invalidArgument``, before anything is sent, if the message can't be sent with this
    ///   mark: it contains the delimiter, it is too long for its length prefix, or data would look like the mark
    ///   however the message is cut, as with a message that consists only of a one-octet mark;
    ///   ``BLEError/Code/overflow`` if the mark doesn't fit into a chunk of MTU − 3 octets, 512 at most, if chunks are
    ///   dropped for newer values of the characteristic, which `notify` with `BufferPolicy.newest` sends meanwhile, or
    ///   if the central agrees on a smaller MTU meanwhile, which cuts chunks;
    ///   ``BLEError/Code/notSupported`` also if the central unsubscribes before the radio has the last chunk, even if
    ///   it subscribes again at once; ``BLEError/Code/busy`` if the services are replaced, and nothing tells the
    ///   central, which receives nothing until it notices; ``BLEError/Code/disconnected`` also if it is told and does
    ///   not confirm within the 30 s of the specification, or if the message would follow a part of another one;
    ///   otherwise as ``notify(_:of:to:)-(Collection<UInt8>,_,_)``.
    public func send(
        _ message: some Collection<UInt8>,
        of key: some CharacteristicKey,
        to central: ConnectedCentral,
        endingWith mark: EndMark = .endOfMessage(),
        beginsAnew: Bool = false,
        onProgress: @Sendable (CommandProgress) -> Void = { _ in }
    ) async throws {
        let object = "of \(key.reference) to \(central)"
        let limit = central.maximumValueLength
        let chunks = try chunks(of: message, endingWith: mark, limit: limit, object: object)
        // Before anything is sent.
        let handle = try handle(of: key.reference.selector, 0, .notify, operation: "send")
        let before = central.bearer.serve { server, _ in server.breaks(of: handle) }
        // It was larger when the message was cut.
        guard central.maximumValueLength >= limit else {
            throw central.refused(.narrowed, operation: "send", object: object)
        }
        if let part = central.state.withLock({ $0.partsSent[handle] }), !beginsAnew, part.isSameSubscription(as: before)
        {
            central.disconnect()
            throw BLEError.followsPart(object, remedy: BLEError.remedyOfCentralGone)
        }
        var teller = SendingProgress(of: message.count, on: radio.timeline)
        var sent = PartCount(of: chunks.count)
        defer { if sent.isAnything { central.state.withLock { $0.partsSent[handle] = sent.isPart ? before : nil } } }
        do {
            for chunk in chunks {
                try await central.sendChunk(handle, Array(chunk), continuing: before, object: object)
                sent.add()
                teller.add(chunk.count, onProgress)
            }
            try await central.waitUntilTaken(handle, since: before, object: object)
        } catch let error as BLEError {
            // The mark may be among what was dropped.
            if error.code == .overflow, sent.isAnything { sent.lacksChunks() }
            throw sent.isPart ? error.leavingPart : error
        }
        teller.finish(onProgress)
    }
}

/// The progress of a message, as its sender sees it.
private struct SendingProgress {
    private let total: Int
    private let timeline: any Timeline
    private var meter: ProgressMeter
    private var completed = 0

    init(of total: Int, on timeline: any Timeline) {
        self.total = total
        self.timeline = timeline
        meter = ProgressMeter(start: timeline.now, completed: 0)
    }

    /// Adds octets, including those of the mark or the length.
    mutating func add(_ octets: Int, _ tell: (CommandProgress) -> Void) {
        completed += octets
        if completed < total { say(completed, tell) }
    }

    mutating func finish(_ tell: (CommandProgress) -> Void) { say(total, tell) }

    private mutating func say(_ completed: Int, _ tell: (CommandProgress) -> Void) {
        let rate = meter.rate(at: timeline.now, completed: completed)
        tell(CommandProgress(phase: "send", completed: completed, total: total, rate: rate))
    }
}

/// How many chunks of a message the peer has.
private struct PartCount {
    private let total: Int
    private var count = 0
    /// Whether it may have a part, and not all.
    private(set) var isPart = false

    /// Whether it may have any.
    var isAnything: Bool { count > 0 || isPart }

    init(of total: Int) { self.total = total }

    mutating func add() {
        count += 1
        isPart = count < total
    }

    /// All were handed out, and some of them were dropped then.
    mutating func lacksChunks() { isPart = true }

    /// The next chunk was not confirmed. The only one of a message has arrived, or has not.
    ///
    /// - Parameter wasUp: whether the link was up before the first one. The kernel may still hold a link that this side
    ///   has given up since then.
    mutating func fail(_ error: any Error, wasUp: Bool) {
        let code = (error as? BLEError)?.code
        let mayHaveArrived = error is CancellationError || code == .timedOut || code == .disconnected && wasUp
        if mayHaveArrived { isPart = total > 1 }
    }
}

extension ConnectedCentral {
    /// How many chunks of a message may wait for the radio.
    private static let window = 16

    /// - Parameter before: what had broken off values of the characteristic before the message.
    fileprivate func sendChunk(
        _ handle: UInt16,
        _ chunk: [UInt8],
        continuing before: ATTServer.Breaks,
        object: String
    ) async throws {
        _ = try await queue(object, operation: "send") { server, database throws(ATTServer.SendRefusal) in
            try server.notify(handle, chunk, .window(Self.window), continuing: before, database: database)
            return chunk.count
        }
    }

    /// Waits until the radio has taken every waiting notification of the characteristic, however many others wait.
    ///
    /// - Throws: also if chunks of the message were dropped or cut meanwhile, or wait without a time limit.
    fileprivate func waitUntilTaken(
        _ handle: UInt16,
        since before: ATTServer.Breaks,
        object: String
    ) async throws {
        while true {
            let seen = state.withLock { $0.emptiness.news }
            let (isEmpty, breaks, isDeclared, isHeldBack) = bearer.serve { server, database in
                (
                    server.watchForEmptiness(of: handle),
                    server.breaks(of: handle),
                    database.characteristic(at: handle) != nil,
                    server.waitsForClient
                )
            }
            if let end = bearer.end { throw BLEError.centralLeft(end, operation: "send", object: object) }
            guard breaks.hasDroppedNothing(since: before) else {
                let refusal: ATTServer.SendRefusal =
                    breaks.isSameSubscription(as: before)
                    ? .displaced : isDeclared ? .brokenOff : .unknownCharacteristic
                throw refused(refusal, operation: "send", object: object)
            }
            guard breaks.hasCutNothing(since: before) else {
                throw refused(.narrowed, operation: "send", object: object)
            }
            if isEmpty { return }
            if isHeldBack { throw BLEError.restWaits(object) }
            try await room(\.emptiness, after: seen)
        }
    }
}

extension CharacteristicAccess {
    /// Writes a message and its end mark in chunks as large as the link carries: the counterpart of
    /// ``PeripheralServer/send(_:of:to:endingWith:beginsAnew:onProgress:)`` in the other direction.
    ///
    /// It holds the link meanwhile, so no other operation of this program comes between two chunks. The message is cut
    /// so that no data looks like the mark.
    ///
    /// If it is cancelled or fails midway, the peripheral has the beginning of a message and gets no mark: it would
    /// take the next message for the rest of that one. So that one is refused, and the link dropped. In a session's
    /// queue, and in one that connects, a command that is retried sends it on the next link. Without the capability to
    /// drop a link, the kernel holds it for two seconds more: until then the message is refused again.
    ///
    /// Of a message that another program has begun, this one knows nothing. If that was killed meanwhile, and this one
    /// takes over its link within those two seconds, the peripheral puts both messages together: have the program
    /// started again later, with `RestartSec=3` in its systemd unit.
    ///
    /// ```swift
    /// try await link.send("Once upon a time …".utf8, to: BluetoothUUID(0xFFF2), endingWith: .endOfMessage("EOM"))
    /// ```
    ///
    /// - Parameters:
    ///   - message: any number of octets, including none.
    ///   - key: the characteristic.
    ///   - mark: how the message ends; by default "EOM" as a chunk of its own.
    ///   - kind: how to write each chunk; with response by default.
    ///   - beginsAnew: whether the message may follow a part of another one on the same link, because the peripheral's
    ///     protocol has a way to begin anew, and the program has used it.
    ///   - onProgress: called after each chunk with the number of octets of the message written so far.
    /// - Throws: ``BLEError/Code/invalidArgument`` and ``BLEError/Code/overflow`` as
    ///   ``PeripheralServer/send(_:of:to:endingWith:beginsAnew:onProgress:)``, before anything is sent;
    ///   ``BLEError/Code/disconnected`` also if the message would follow a part of another one; otherwise as
    ///   ``write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)``.
    public func send(
        _ message: some Collection<UInt8>,
        to key: some CharacteristicKey,
        endingWith mark: EndMark = .endOfMessage(),
        _ kind: Link.WriteKind = .withResponse,
        beginsAnew: Bool = false,
        onProgress: @Sendable (CommandProgress) -> Void = { _ in }
    ) async throws {
        let (message, reference) = (Array(message), key.reference)
        try await withLink(for: .write, timeout: nil) { link in
            let object = "to \(reference) of \(link.peripheral)"
            let chunks = try chunks(of: message, endingWith: mark, limit: min(link.mtu - 3, 512), object: object)
            try await link.exclusively { link in
                let (handle, type) = try await link.place(of: reference.selector)
                try Task.checkCancellation()
                let (parts, peer) = (link.peripheral.core.sentParts, link.bearer.peripheral)
                let before = link.sentParts.parts(before: handle, in: link.bearer.knownDatabase)
                if !before.isEmpty, !beginsAnew {
                    link.bearer.close(DisconnectReason(.closedLocally))
                    throw BLEError.followsPart(
                        object,
                        remedy: "Send it again on the next link; a session makes one by itself."
                    )
                }
                var teller = SendingProgress(of: message.count, on: link.timeline)
                var sent = PartCount(of: chunks.count)
                defer {
                    if sent.isAnything {
                        parts.sent(part: sent.isPart, at: handle, type, after: before, of: peer, in: link.sentParts)
                    }
                }
                let wasUp = link.bearer.end == nil
                for chunk in chunks {
                    do { try await link.write(chunk, to: reference, kind) } catch {
                        sent.fail(error, wasUp: wasUp)
                        throw error
                    }
                    sent.add()
                    teller.add(chunk.count, onProgress)
                }
                teller.finish(onProgress)
            }
        }
    }
}

extension Link {
    /// Where a characteristic's value is, and its type; a handle is taken as it is, without discovery.
    fileprivate func place(
        of selector: CharacteristicSelector
    ) async throws -> (handle: UInt16, type: BluetoothUUID?) {
        if case .handle(let handle) = selector { return (handle, nil) }
        let found = try await characteristic(selector, operation: "write", timeout: nil)
        return (found.valueHandle, found.uuid)
    }
}

/// The chunks of a message: neither a notification nor a write carries more than 512 octets of a value (Core
/// Specification, Vol 3, Part F, 3.2.9).
private func chunks(
    of message: some Collection<UInt8>,
    endingWith mark: EndMark,
    limit: Int,
    object: String
) throws -> [ArraySlice<UInt8>] {
    do throws(MessageCutter.Refusal) {
        return try MessageCutter.chunks(of: Array(message), endingWith: mark, limit: limit)
    } catch {
        throw BLEError.cannotSend(error, object: object)
    }
}
