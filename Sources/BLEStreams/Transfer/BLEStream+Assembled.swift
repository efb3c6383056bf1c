import BLEProtocol

extension BLEStream where Element: Collection, Element.Element == UInt8 {
    /// The messages assembled from the chunks, each without its end mark.
    ///
    /// ```swift
    /// let chunks = link.notifications(of: BluetoothUUID(0xFFF1))
    /// let message = try await chunks.assembled(until: .endOfMessage("EOM")).first()
    /// ```
    ///
    /// Put ``retry(_:when:)`` after it, so that an interrupted message is sent again: before it, the interrupted
    /// message is given up, and the next chunk is taken for the beginning of a message.
    ///
    /// Behind it, `retry` drops an error together with the part in ``BLEError/received``. A planned subscription of a
    /// session goes on meanwhile: the rest of that message is dropped too, up to its end or until the link is lost, and
    /// the next element is a whole message. With ``EndMark/lengthPrefix(octets:order:)`` that end can't be found: when
    /// the rest comes, the stream fails with ``BLEError/Code/ended``, which is final.
    ///
    /// - Parameters:
    ///   - mark: how a message ends.
    ///   - maximumSize: the largest message in octets, without mark and prefix; 1 MiB by default.
    /// - End: with the upstream, between two messages.
    /// - Throw: ``BLEError/Code/overflow`` past the maximum, if chunks were dropped, or if the kernel has dropped PDUs
    ///   that may have been chunks (see ``Link/droppedPDUs``), also before this program took over the link of an
    ///   earlier one to which the peripheral was still sending, or if the peripheral may have withheld chunks because its
    ///   services had changed: no message has a hole. ``BLEError/Code/ended`` if the upstream ends in the middle of a
    ///   message; an error of the upstream passes. Complete messages are delivered first, and ``BLEError/received`` has
    ///   the received part of the next one, including its prefix; so has ``BLEError/receivedParts``, with the name of
    ///   the stream.
    /// - Cancellation and an early `break` close the upstream at once. If it is a planned subscription of a session
    ///   whose values are octets, or one behind ``timeout(_:for:)``, ``prefix(for:)`` or
    ///   ``take(until:)-(BLEStream<Other>)``, its next stream begins with the message that is not complete, and none is
    ///   lost or cut. What an error has handed out in ``BLEError/received`` does not come again: the next stream of
    ///   whoever has got that error begins behind it. If it ends the upstream of several consumers of
    ///   ``share(replay:buffer:)``, so does the next stream of each, also behind `retry`.
    public func assembled(until mark: EndMark, maximumSize: Int = 1 << 20) -> BLEStream<[UInt8]> {
        precondition(maximumSize >= 0, "a message can't have a negative size")
        let subject = subject
        return lift { upstream, waker in
            var assembler = MessageAssembler(mark, maximumSize: maximumSize)
            var isStopped = false
            // Whether an error has handed out a part of a message, and whether chunks behind that are missing.
            var isTorn = false
            var isHoled = false
            upstream.used?(0)
            // What the source keeps is not lost. It keeps nothing while others go on with it.
            func isKept() -> Bool { upstream.used != nil && upstream.place?.hasOthers != true }
            func handedOut(_ scope: UnfinishedScope) -> UnfinishedParts {
                guard scope == .all || !isKept() else { return UnfinishedParts() }
                let part = assembler.unfinished
                if part != nil { isTorn = true }
                return UnfinishedParts(part, of: subject)
            }
            // Whoever gets the error has the beginning, and the next stream has the rest. If nobody does, nobody gets
            // the rest either.
            func leave() {
                // An error of another type, or of an operator behind this one, has no part: nobody gets that either,
                // nor the complete messages before it.
                if waker.dropsError, !isKept() {
                    while (try? assembler.next()) != nil {}
                    isTorn = assembler.unfinished != nil
                }
                if isTorn || isHoled {
                    if waker.dropsError, !isHoled {
                        assembler.skip()
                        // Nobody gets what follows the end of that message either: the last part has a rest to come.
                        while !isKept(), !assembler.isSkipping, assembler.unfinishedCount > 0 { assembler.skip() }
                    } else {
                        assembler.restart(inMessage: waker.dropsError)
                    }
                    // If the mark has begun, perhaps in several chunks, the next stream skips all of them once more.
                    let needed = assembler.neededCount
                    if !assembler.isSkipping || needed == 0 { upstream.used?(needed) }
                }
                upstream.place?.leavesInMessage = assembler.isSkipping
            }
            func poll() throws -> Polled<[UInt8]> {
                while true {
                    if let message = try assembler.next() {
                        // Behind `share()` others go on when an error has handed out the part that one of them got.
                        isTorn = false
                        // What remains came with the last chunk.
                        upstream.used?(assembler.unfinishedCount)
                        return .element(message)
                    }
                    switch try upstream.poll() {
                    case .element(let chunk): assembler.append(chunk)
                    case .gap(let gap) where gap.mayTearMessages: throw BLEError.chunksDropped(subject, gap)
                    case .gap(let gap):
                        assembler.reset()
                        isTorn = false
                        upstream.used?(0)
                        return .gap(gap)
                    case .pending: return .pending
                    case .end where isStopped || assembler.unfinished == nil: return .end
                    case .end: throw BLEError.endedInMessage(subject)
                    }
                    if Task.isCancelled { return .pending }
                }
            }
            let cursor: Cursor<[UInt8]> = Cursor(
                poll: {
                    do {
                        return try poll()
                    } catch let error as MessageAssembler.TooLong {
                        isTorn = true
                        throw BLEError.messageTooLong(subject, maximumSize, error.received)
                    } catch var error as BLEError {
                        error.handOut(handedOut(.all))
                        isHoled = error.code == .overflow
                        throw error
                    }
                },
                unfinished: handedOut,
                stop: {
                    isStopped = true
                    upstream.stop()
                },
                close: {
                    leave()
                    upstream.close()
                }
            )
            upstream.place?.isNoted = true
            guard upstream.place?.beginsInMessage == true else { return cursor }

            assembler.skip()
            // Whether a message has begun, and nobody knows where.
            var isLost = false
            // What comes instead of chunks, until a message begins.
            func skip() throws -> Polled<[UInt8]>? {
                while assembler.isSkipping {
                    switch try upstream.poll() {
                    case .element(let chunk):
                        isLost = !assembler.findsNext
                        assembler.skip(chunk)
                        let needed = assembler.neededCount
                        // A mark that has begun in an earlier chunk is found by the next stream only with that one.
                        if needed <= chunk.count { upstream.used?(needed) }
                    case .gap(let gap):
                        // A lost link is a new beginning.
                        assembler.restart(inMessage: gap.mayTearMessages)
                        upstream.used?(0)
                        return .gap(gap)
                    // Not before all is taken that has come: there may be a new beginning in it. In a cancelled task,
                    // the upstream may have given up before that.
                    case .pending where isLost && !Task.isCancelled, .end where isLost:
                        throw BLEError.placeLost(subject)
                    case .pending: return .pending
                    case .end: return .end
                    }
                    if Task.isCancelled { return .pending }
                }
                return nil
            }
            return Cursor(
                poll: { try skip() ?? cursor.poll() },
                unfinished: cursor.unfinished,
                stop: cursor.stop,
                close: cursor.close
            )
        }
    }
}

extension BLEError {
    private static let otherMark = "Check that the end mark matches the one that the peer sends"

    fileprivate static func endedInMessage(_ subject: StreamSubject) -> BLEError {
        BLEError(
            .ended,
            operation: subject.operation,
            object: subject.object,
            cause: "the stream ended in the middle of a message",
            remedy: otherMark + "."
        )
    }

    fileprivate static func placeLost(_ subject: StreamSubject) -> BLEError {
        var error = BLEError(
            .ended,
            operation: subject.operation,
            object: subject.object,
            cause: "a message was given up in the middle, and lengths don't show where the next one begins",
            remedy: "Call the session's disconnect() and connect(), and begin a new stream: on a new link the peer "
                + "starts with a whole message."
        )
        error.isFinal = true
        return error
    }

    @usableFromInline static func chunksDropped(_ subject: StreamSubject, _ gap: StreamGap) -> BLEError {
        guard gap.dropped == 0 else {
            return BLEError(
                .overflow,
                operation: subject.operation,
                object: subject.object,
                cause: "\(gap.dropped) \(gap.dropped == 1 ? "chunk was" : "chunks were") dropped",
                remedy: subject.operation == StreamSubject.writes
                    ? remedyOfDroppedWrites : "Consume values faster, or choose a larger buffer."
            )
        }
        if gap.mayBeWithheld {
            return BLEError(
                .overflow,
                operation: subject.operation,
                object: subject.object,
                cause: "chunks may be missing: the peripheral's services changed, and it may have sent no values until "
                    + "this side learned of that",
                remedy: "Have the message sent again."
            )
        }
        return BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "PDUs of the link are missing, and nobody can tell whether they were chunks, values of another "
                + "subscription or an answer: the kernel has dropped them, or an earlier program had the link",
            remedy: "Have the message sent again. If the link's droppedPDUs isn't 0, reduce the load of this machine, "
                + "and don't block in an EventHandler, which delays the thread that reads the adapter's links."
        )
    }

    private static let remedyOfDroppedWrites =
        "Take chunks faster, or let the central write with response: without, one is ignored, too, if it is too long, "
        + "signed, or written before the central knows that the services were replaced, and the kernel may have no "
        + "room for it."

    fileprivate static func messageTooLong(_ subject: StreamSubject, _ maximum: Int, _ received: [UInt8]) -> BLEError {
        var error = BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "a message is longer than \(maximum) octets",
            remedy: otherMark + ", or allow larger messages with maximumSize."
        )
        error.handOut(UnfinishedParts(received, of: subject))
        return error
    }
}
