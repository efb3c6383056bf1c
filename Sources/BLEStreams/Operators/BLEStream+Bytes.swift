import BLEProtocol

extension BLEStream where Element: Collection, Element.Element == UInt8 {
    /// The octets of the chunks, one by one.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; ``BLEError/Code/overflow`` if chunks were dropped, or may have been
    ///   (see ``Link/droppedPDUs``), also before this program took over the link of an earlier one, or if the peer may
    ///   have withheld chunks because its services had changed: the following octets would not be what the peer sent.
    /// - Cancellation and an early `break` close the upstream at once; the rest of a chunk is dropped, unless the
    ///   upstream is a planned subscription of a session: its next stream begins with it.
    @inlinable public var bytes: BLEStream<UInt8> {
        let subject = subject
        return lift { upstream, _ in
            var chunk: Element?
            var position: Element.Index?
            func next() -> UInt8? {
                guard let chunk, let index = position, index < chunk.endIndex else { return nil }
                position = chunk.index(after: index)
                return chunk[index]
            }
            func giveBackRest() {
                guard let used = upstream.used else { return }
                guard let chunk, let position else { return used(0) }
                used(chunk.distance(from: position, to: chunk.endIndex))
            }
            giveBackRest()
            return Cursor(
                poll: {
                    while true {
                        if let octet = next() { return .element(octet) }
                        upstream.used?(0)
                        switch try upstream.poll() {
                        case .element(let new):
                            chunk = new
                            position = new.startIndex
                        case .gap(let gap) where gap.mayTearMessages: throw BLEError.chunksDropped(subject, gap)
                        case .gap(let gap): return .gap(gap)
                        case .pending: return .pending
                        case .end: return .end
                        }
                        if Task.isCancelled { return .pending }
                    }
                },
                unfinished: upstream.unfinished,
                stop: upstream.stop,
                close: {
                    giveBackRest()
                    upstream.close()
                }
            )
        }
    }
}
