/// Empties a socket, in batches, and finds out whether that was the end of it.
///
/// A dead Bluetooth socket tells its error once; behind the error may lie datagrams that came before it, and behind
/// these it says `EAGAIN` for ever. So an error is remembered, the queue is emptied, and only then the end is told.
struct SocketDrain {
    /// How a socket was left.
    enum Outcome: Equatable {
        /// It is open; more may come.
        case open
        /// It is over, with the error that said why, where there was one.
        case ended(SystemError?)
    }

    /// Batches after which other sockets have their turn; the loop comes back at once.
    static let fairShare = 4
    /// Batches that are more than any queue holds, and so end only a flood that never does.
    static let everything = 4096
    /// A socket whose error doesn't go away is given up after as many.
    private static let patience = 8

    /// Calls `batch` with the number of datagrams that lie in the buffer, as often as it takes.
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
            // An empty datagram is either a peer's empty frame or, where the other end has closed, the end.
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
