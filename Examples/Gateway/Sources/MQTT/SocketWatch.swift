@preconcurrency import Dispatch
import Glibc

/// Watches a socket on a queue. It has a descriptor of its own for the same socket: libmosquitto closes its descriptor
/// when it likes, and a source must not outlive its descriptor.
final class SocketWatch {
    /// The socket as libmosquitto knows it.
    let socket: Int32
    private let reading: any DispatchSourceRead
    private let writing: any DispatchSourceWrite
    private var isWriting = false

    /// - Returns: `nil` if the process has no descriptor left.
    init?(
        _ socket: Int32,
        on queue: DispatchQueue,
        read: @escaping @Sendable () -> Void,
        write: @escaping @Sendable () -> Void
    ) {
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.socket = socket
        reading = DispatchSource.makeReadSource(fileDescriptor: copy, queue: queue)
        writing = DispatchSource.makeWriteSource(fileDescriptor: copy, queue: queue)
        reading.setEventHandler(handler: read)
        writing.setEventHandler(handler: write)
        // Closed when both sources have let go of it.
        let group = DispatchGroup()
        group.enter()
        group.enter()
        reading.setCancelHandler { group.leave() }
        writing.setCancelHandler { group.leave() }
        group.notify(queue: queue) { close(copy) }
        // Before the writer waits: Dispatch never wakes a reader that begins to wait on a descriptor later than a writer.
        reading.resume()
    }

    /// Whether room for writing is of interest.
    func wantsToWrite(_ wants: Bool) {
        guard wants != isWriting else { return }
        isWriting = wants
        if wants { writing.resume() } else { writing.suspend() }
    }

    deinit {
        reading.cancel()
        writing.cancel()
        // A suspended source never runs its handlers.
        if !isWriting { writing.resume() }
    }
}
