import BLEStreams
import Glibc
import Interruption
import Synchronization

/// Waits until a descriptor can be read or written, or a signal interrupts the command.
enum DescriptorWait {
    /// The most that a pipe with room takes without waiting (pipe(7), `PIPE_BUF`).
    static let pipeRoom = 4096

    /// How long a reader that takes nothing is waited for after a signal: it may only be slow.
    private static let patience = Duration.seconds(2)

    /// Whether a reader has been waited for in vain after a signal; the next write doesn't wait again.
    private static let isOver = Atomic(false)

    /// Waits until octets can be read, or until a signal.
    ///
    /// - Returns: whether they can.
    static func forOctets(from descriptor: Int32) -> Bool { isReadyBeforeSignal(descriptor, Int16(POLLIN)) }

    /// Waits until a few octets can be written; after a signal not for long.
    ///
    /// - Returns: whether they can.
    static func forRoom(in descriptor: Int32) -> Bool {
        if isReadyBeforeSignal(descriptor, Int16(POLLOUT)) { return true }
        let limit = isOver.load(ordering: .relaxed) ? Duration.zero : patience
        if isReady(descriptor, Int16(POLLOUT), within: limit) { return true }
        isOver.store(true, ordering: .relaxed)
        return false
    }

    /// Waits until the reader of a pipe has left.
    ///
    /// - Parameter notice: a descriptor that ends the wait when it can be read.
    /// - Returns: whether the reader has left.
    static func forDeparture(from descriptor: Int32, before notice: Int32) -> Bool {
        // An error is told unasked.
        isReady(descriptor, 0, before: notice)
    }

    private static func isReadyBeforeSignal(_ descriptor: Int32, _ event: Int16) -> Bool {
        isReady(descriptor, event, before: TerminationSignals.notice)
    }

    /// The corresponding C function is `poll`.
    private static func isReady(_ descriptor: Int32, _ event: Int16, before notice: Int32) -> Bool {
        var wanted = [
            pollfd(fd: descriptor, events: event, revents: 0),
            pollfd(fd: notice, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&wanted, nfds_t(wanted.count), -1) < 0, errno == EINTR {}
        // An error is reported by the call that follows.
        return wanted[0].revents != 0
    }

    /// Whether it is ready within this time, whatever signal comes. The corresponding C function is `poll`.
    static func isReady(_ descriptor: Int32, _ event: Int16, within limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        var wanted = pollfd(fd: descriptor, events: event, revents: 0)
        while true {
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            let count = poll(&wanted, 1, Int32((left.seconds * 1000).rounded(.up)))
            if count >= 0 || errno != EINTR { return count == 1 }
        }
    }
}

/// Writes all octets to a file descriptor, and waits for a reader that doesn't read; after a signal not for long.
///
/// - Returns: the `errno` of the failure, or 0; `ECANCELED` if the reader was waited for in vain.
func writeAll(_ octets: [UInt8], to descriptor: Int32) -> Int32 {
    octets.withUnsafeBytes { buffer in
        var position = 0
        while position < buffer.count {
            guard DescriptorWait.forRoom(in: descriptor) else { return ECANCELED }
            // More would have to wait within the call, where no signal is noticed.
            let part = min(buffer.count - position, DescriptorWait.pipeRoom)
            let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + position }, part)
            if count >= 0 {
                position += count
            } else if errno != EAGAIN, errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
