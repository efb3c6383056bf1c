import BLEProtocol

extension BLEStream where Element: Collection, Element.Element == UInt8 {
    /// The messages that the chunks make up, each without its end mark.
    ///
    /// ```swift
    /// let message = try await link.notifications(of: .transfer).assembled(until: .endOfMessage("EOM")).first()
    /// ```
    ///
    /// - Parameters:
    ///   - mark: how the end of a message is told.
    ///   - maximumSize: the largest message in octets, mark and prefix not counted; 1 MiB unless said otherwise.
    /// - Throws: ``BLEError/Code/overflow`` past the maximum, and the upstream's error when it fails in the middle of
    ///   a message; in both cases ``BLEError/received`` has what had come of it.
    ///   An upstream that ends in the middle of a message is ``BLEError/Code/ended``, with the same.
    /// - End: with the upstream, between two messages. Cancellation and an early `break` close the upstream at once.
    public func assembled(until mark: EndMark, maximumSize: Int = 1 << 20) -> BLEStream<[UInt8]> {
        let subject = subject
        return lift { upstream, _ in
            var assembler = MessageAssembler(mark, maximumSize: maximumSize)
            var complete = Ring<[UInt8]>()
            return Cursor(
                poll: {
                    while true {
                        if let message = complete.popFirst() { return .element(message) }
                        do {
                            switch try upstream.poll() {
                            case .pending: return .pending
                            case .element(let chunk):
                                for message in try assembler.append(chunk) { complete.append(message) }
                            case .end:
                                guard let received = assembler.unfinished else { return .end }
                                throw BLEError.endedInMessage(subject, received)
                            }
                        } catch let error as MessageAssembler.TooLong {
                            throw BLEError.messageTooLong(subject, maximumSize, error.received)
                        } catch var error as BLEError {
                            error.received = error.received ?? assembler.unfinished
                            throw error
                        }
                    }
                },
                unfinished: { assembler.unfinished },
                close: upstream.close
            )
        }
    }
}

extension BLEError {
    fileprivate static func endedInMessage(_ subject: StreamSubject, _ received: [UInt8]) -> BLEError {
        var error = BLEError(
            .ended,
            operation: subject.operation,
            object: subject.object,
            cause: "the stream ended in the middle of a message",
            remedy: "Look whether the end mark is the one that the peer sends."
        )
        error.received = received
        return error
    }

    fileprivate static func messageTooLong(_ subject: StreamSubject, _ maximum: Int, _ received: [UInt8]) -> BLEError {
        var error = BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "a message is longer than \(maximum) octets",
            remedy: "Look whether the end mark is the one that the peer sends, or allow more."
        )
        error.received = received
        return error
    }
}
