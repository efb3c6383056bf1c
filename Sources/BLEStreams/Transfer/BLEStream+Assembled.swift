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
    /// - Parameters:
    ///   - mark: how a message ends.
    ///   - maximumSize: the largest message in octets, without mark and prefix; 1 MiB by default.
    /// - End: with the upstream, between two messages.
    /// - Throw: ``BLEError/Code/overflow`` past the maximum, or if chunks were dropped; ``BLEError/Code/ended`` if the
    ///   upstream ends in the middle of a message; an error of the upstream passes. Complete messages are delivered
    ///   first, and ``BLEError/received`` has the received part of the next one, including its prefix.
    /// - Cancellation and an early `break` close the upstream at once. If it is a planned subscription of a session whose
    ///   values are octets, or one behind ``timeout(_:for:)``, ``prefix(for:)`` or
    ///   ``take(until:)-(BLEStream<Other>)``, its next stream begins with the message that is not complete, and none is
    ///   lost or cut. What an error has handed out in ``BLEError/received`` does not come again.
    public func assembled(until mark: EndMark, maximumSize: Int = 1 << 20) -> BLEStream<[UInt8]> {
        precondition(maximumSize >= 0, "a message can't have a negative size")
        let subject = subject
        return lift { upstream, _ in
            var assembler = MessageAssembler(mark, maximumSize: maximumSize)
            var isStopped = false
            upstream.used?(0)
            func handedOut() -> [UInt8]? {
                upstream.used?(0)
                return assembler.unfinished
            }
            func poll() throws -> Polled<[UInt8]> {
                while true {
                    if let message = try assembler.next() {
                        // What remains came with the last chunk.
                        upstream.used?(assembler.unfinishedCount)
                        return .element(message)
                    }
                    switch try upstream.poll() {
                    case .element(let chunk): assembler.append(chunk)
                    case .gap(let gap) where gap.dropped > 0: throw BLEError.chunksDropped(subject, gap.dropped)
                    case .gap(let gap):
                        assembler.reset()
                        upstream.used?(0)
                        return .gap(gap)
                    case .pending: return .pending
                    case .end where isStopped || assembler.unfinished == nil: return .end
                    case .end: throw BLEError.endedInMessage(subject)
                    }
                    if Task.isCancelled { return .pending }
                }
            }
            return Cursor(
                poll: {
                    do {
                        return try poll()
                    } catch let error as MessageAssembler.TooLong {
                        upstream.used?(0)
                        throw BLEError.messageTooLong(subject, maximumSize, error.received)
                    } catch var error as BLEError {
                        let part = handedOut()
                        error.received = error.received ?? part
                        throw error
                    }
                },
                unfinished: handedOut,
                stop: {
                    isStopped = true
                    upstream.stop()
                },
                close: upstream.close
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

    @usableFromInline static func chunksDropped(_ subject: StreamSubject, _ count: Int) -> BLEError {
        BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "\(count) chunks were dropped",
            remedy: "Consume values faster, or choose a larger buffer."
        )
    }

    fileprivate static func messageTooLong(_ subject: StreamSubject, _ maximum: Int, _ received: [UInt8]) -> BLEError {
        var error = BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "a message is longer than \(maximum) octets",
            remedy: otherMark + ", or allow larger messages with maximumSize."
        )
        error.received = received
        return error
    }
}
