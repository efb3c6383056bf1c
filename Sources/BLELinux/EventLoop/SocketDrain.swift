/// Empties a socket, in batches, and finds out whether it has ended.
///
/// A dead Bluetooth socket reports its error once; then it may still return datagrams that came before the error, and
/// after these `EAGAIN` for ever. So an error is remembered, the queue is emptied, and only then the end is reported.
struct SocketDrain {
    /// How a socket was left.
    enum Outcome: Equatable {
        /// It is open; more may come.
        case open
        /// It is over, with the error that said why, if there was one.
        case ended(SystemError?)
    }

    /// The batches after which other sockets have their turn; the loop comes back immediately.
    static let fairShare = 4
    /// More batches than any queue holds: ends only an endless flood.
    static let everything = 4096
    /// The errors in a row after which a socket is given up.
    private static let patience = 8

    /// Whether a queue was read to its end, if its last batch had so many datagrams.
    static func isEmpty(_ socket: borrowing FileDescriptor, behind last: Int) -> Bool {
        last < ReceiveBuffer.slots || socket.readinessNow(for: .readable).isEmpty
    }

    /// Calls `batch` with the number of datagrams in the buffer, as often as necessary.
    static func empty(
        _ socket: borrowing FileDescriptor,
        readiness: Readiness,
        through buffer: ReceiveBuffer,
        limit: Int = fairShare,
        batch: (Int) -> Void
    ) -> Outcome {
        var isAtEnd = readiness.isEnd
        var error: SystemError?
        var batches = 0
        var errors = 0
        while true {
            let count: Int
            do {
                count = try socket.receive(into: buffer)
            } catch .wouldBlock {
                break
            } catch let failure {
                isAtEnd = true
                errors += 1
                if error == nil { error = failure }
                if errors == patience { break }
                continue
            }
            batch(count)
            batches += 1
            // An empty datagram is either a peer's empty frame or, if the other end has closed, the end.
            if (0..<count).contains(where: buffer.isEmpty),
                !socket.readinessNow(for: .peerClosed).isDisjoint(with: [.peerClosed, .hangUp])
            {
                isAtEnd = true
                if buffer.isEmpty(count - 1) { break }
            }
            if !isAtEnd, count < ReceiveBuffer.slots || batches == limit { break }
        }
        return isAtEnd ? .ended(error) : .open
    }
}
