import BLEStreams
@preconcurrency import Dispatch
import Glibc

/// An accepted connection, which is closed when nobody refers to it any more.
///
/// What is sent has a descriptor of its own for the same socket: Dispatch never wakes a reader that begins to wait on a
/// descriptor while a writer waits there, since it files the reader among the writers (libdispatch,
/// `_dispatch_unote_register_muxed`).
final class TCPConnection: Sendable {
    private let incoming: DispatchIO
    private let outgoing: DispatchIO
    private let queue = DispatchQueue(label: "connection")

    /// - Parameter descriptor: closed with the connection, or if there can be none.
    /// - Returns: `nil` if the process has no descriptor left; `errno` says so.
    init?(_ descriptor: Int32) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            let failure = errno
            close(descriptor)
            errno = failure
            return nil
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // A peer that has disappeared silently is noticed within a minute and a half.
        setOption(SOL_SOCKET, SO_KEEPALIVE, 1, of: descriptor)
        setOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30, of: descriptor)
        setOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 15, of: descriptor)
        setOption(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 60_000, of: descriptor)
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1, of: descriptor)
        let group = DispatchGroup()
        for _ in 0..<2 { group.enter() }
        incoming = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in group.leave() }
        outgoing = DispatchIO(type: .stream, fileDescriptor: copy, queue: queue) { _ in group.leave() }
        // Together: a peer that sees the end may come again at once, and needs both.
        group.notify(queue: queue) {
            close(copy)
            close(descriptor)
        }
        incoming.setLimit(lowWater: 1)
    }

    deinit { abandon() }

    /// Received octets, in pieces; the stream ends when the other side sends no more.
    ///
    /// A peer that sends faster than its requests are started is cut off.
    var received: BLEStream<[UInt8]> {
        BLEStream(buffer: .fail(1024)) { [incoming, outgoing, queue] feed in
            incoming.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
                if let data, !data.isEmpty { feed.send(Array(data)) }
                if isDone { feed.finish(throwing: error == 0 ? nil : BLEError.connectionLost(error)) }
            }
            return { for channel in [incoming, outgoing] { channel.close(flags: .stop) } }
        }
    }

    /// Queues octets for sending; they leave in the order of the calls.
    ///
    /// - Parameter handled: called on a thread of its own once they have left, with 0 or an `errno`.
    func send(_ octets: [UInt8], handled: @escaping @Sendable (Int32) -> Void) {
        let data = octets.withUnsafeBytes { DispatchData(bytes: $0) }
        outgoing.write(offset: 0, data: data, queue: queue) { isDone, _, error in
            if isDone { handled(error) }
        }
    }

    /// Receives nothing more, and closes it once the queued octets have left.
    func finish() {
        incoming.close(flags: .stop)
        outgoing.close()
    }

    /// Closes it at once: what is queued leaves no more, and whoever waits for that is told `ECANCELED`.
    func abandon() { for channel in [incoming, outgoing] { channel.close(flags: .stop) } }
}

extension BLEError {
    fileprivate static func connectionLost(_ code: Int32) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: "receive",
            object: "from the client",
            cause: String(cString: strerror(code))
        )
        error.systemError = code
        return error
    }
}
