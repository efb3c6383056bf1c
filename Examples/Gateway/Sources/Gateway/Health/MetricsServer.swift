@preconcurrency import Dispatch
import Glibc
import Synchronization

/// Serves a text on 127.0.0.1, to whoever asks, in HTTP 1.0.
final class MetricsServer: Sendable {
    /// A server that can't listen, and why.
    struct ListenError: Error, CustomStringConvertible {
        let port: Int
        let number: Int32
        var description: String {
            "metrics: port \(port) of 127.0.0.1: \(String(cString: strerror(number))). \(remedy)"
        }

        private var remedy: String {
            if let remedy = shortageRemedy(number) { return remedy }
            return switch number {
            case EADDRINUSE: "Choose another `metrics.port`, or end the program that listens there (`ss -ltnp`)."
            case EACCES, EPERM: "Choose a `metrics.port` from 1024 on, which programs without root may use."
            case EAFNOSUPPORT: "Add AF_INET to `RestrictAddressFamilies=` of the service, or leave `metrics` out."
            default: "Check the network of this machine or container, or leave `metrics` out of the configuration."
            }
        }
    }

    /// A connection that can't be accepted, and why.
    struct ShortageError: Error, CustomStringConvertible {
        let port: Int
        let number: Int32
        var description: String {
            """
            metrics: a connection to port \(port) can't be accepted: \(String(cString: strerror(number))). The \
            connection waits until the shortage is over. \(shortageRemedy(number) ?? "")
            """
        }
    }

    private struct State {
        /// How many connections there are.
        var open = 0
        /// How often the listener was suspended.
        var pauses = 0
        var isPaused = false
        var isOver = false
    }

    /// The most connections at once; more are closed.
    private static let limit = 8
    /// How long a connection may take.
    private static let timeout = 5
    /// How long to wait for a descriptor or for memory, in seconds.
    private static let pause = 10
    /// With these errors the connection still waits, and the kernel says so again at once.
    private static let shortages: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let queue = DispatchQueue(label: "metrics")
    private let listener: any DispatchSourceRead
    private let port: Int
    private let system: System
    private let text: @Sendable () -> String
    private let shortage: LastingError
    private let state = Mutex(State())
    /// Ends when the port is free.
    private let end: AsyncStream<Void>

    /// Listens until the server is closed or released.
    ///
    /// - Parameters:
    ///   - report: is told once of a shortage that keeps connections waiting.
    ///   - text: the page.
    init(
        port: Int,
        system: System = System(),
        report: @escaping @Sendable (String) -> Void,
        text: @escaping @Sendable () -> String
    ) throws(ListenError) {
        let socket = system.socket()
        guard socket >= 0 else { throw ListenError(port: port, number: errno) }
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0, listen(socket, 8) == 0 else {
            let number = errno
            Glibc.close(socket)
            throw ListenError(port: port, number: number)
        }
        self.port = port
        self.system = system
        self.text = text
        shortage = LastingError(report)
        listener = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
        let (end, ended) = AsyncStream<Void>.makeStream()
        self.end = end
        listener.setCancelHandler {
            Glibc.close(socket)
            ended.finish()
        }
        listener.setEventHandler { [weak self] in self?.accept(socket) }
        listener.activate()
    }

    deinit { stop() }

    /// Listens no more; another server can have the port when this returns.
    func close() async {
        stop()
        for await _ in end {}
    }

    private func stop() {
        state.withLock { state in
            state.isOver = true
            listener.cancel()
            // A suspended source doesn't end, and may not be released.
            if state.isPaused { listener.resume() }
            state.isPaused = false
        }
    }

    private func accept(_ socket: Int32) {
        let connection = system.accept(socket)
        guard connection >= 0 else {
            let number = errno
            if Self.shortages.contains(number) { pause(number) }
            return
        }
        shortage.watch {}
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        guard state.withLock({ $0.open < Self.limit }) else {
            Glibc.close(connection)
            return
        }
        state.withLock { $0.open += 1 }
        let channel = DispatchIO(type: .stream, fileDescriptor: connection, queue: queue) { [weak self] _ in
            Glibc.close(connection)
            guard let self else { return }
            state.withLock { $0.open -= 1 }
            // Its descriptor is free.
            goOn()
        }
        channel.setLimit(lowWater: 1)
        system.limit(Self.timeout, queue) { channel.close(flags: .stop) }
        let answer = Mutex<Bool>(false)
        // Whatever is asked for, there is one page.
        channel.read(offset: 0, length: 4096, queue: queue) {
            [weak self] (_: Bool, data: DispatchData?, error: Int32) in
            let isFirst = answer.withLock { wasSent in
                defer { wasSent = true }
                return !wasSent
            }
            guard isFirst, let self else { return }
            guard error == 0, data?.isEmpty == false else { return channel.close(flags: .stop) }
            respond(on: channel)
        }
    }

    private func respond(on channel: DispatchIO) {
        let body = Array(text().utf8)
        let head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: \(body.count)\r\n"
        let octets = Array(head.utf8) + Array("Connection: close\r\n\r\n".utf8) + body
        let data = octets.withUnsafeBytes { DispatchData(bytes: $0) }
        channel.write(offset: 0, data: data, queue: queue) { (isDone: Bool, _: DispatchData?, error: Int32) in
            if isDone || error != 0 { channel.close(flags: .stop) }
        }
    }

    // MARK: - Without descriptors

    /// Doesn't look for connections until one of its own has closed, or a while has passed.
    private func pause(_ number: Int32) {
        let pause = state.withLock { state -> Int? in
            guard !state.isOver, !state.isPaused else { return nil }
            state.isPaused = true
            state.pauses += 1
            listener.suspend()
            return state.pauses
        }
        if let pause { system.after(Self.pause) { [weak self] in self?.goOn(after: pause) } }
        shortage.watch { throw ShortageError(port: port, number: number) }
    }

    /// - Parameter pause: the one that is over; `nil`: whichever it is.
    private func goOn(after pause: Int? = nil) {
        state.withLock { state in
            guard state.isPaused, pause == nil || pause == state.pauses else { return }
            state.isPaused = false
            listener.resume()
        }
    }
}

/// What to do about a shortage of descriptors or memory; `nil`: it is none.
private func shortageRemedy(_ number: Int32) -> String? {
    switch number {
    case EMFILE: "Raise the limit of open files (`LimitNOFILE=` of the service), or find out what keeps so many open."
    case ENFILE: "Raise the machine's limit of open files (`sysctl fs.file-max`), or end programs that have many open."
    case ENOBUFS, ENOMEM: "Free some memory on this machine."
    default: nil
    }
}

extension MetricsServer {
    /// What a server asks of the system. Tests replace it.
    struct System: Sendable {
        /// Makes a socket. The corresponding C function is `socket`.
        var socket: @Sendable () -> Int32 = {
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            return Glibc.socket(AF_INET, kind, 0)
        }
        /// Accepts a connection. The corresponding C function is `accept`.
        var accept: @Sendable (Int32) -> Int32 = { Glibc.accept($0, nil, nil) }
        /// Ends a connection, on a queue, after a number of seconds.
        var limit: @Sendable (Int, DispatchQueue, @escaping @Sendable () -> Void) -> Void = { seconds, queue, end in
            queue.asyncAfter(deadline: .now() + .seconds(seconds), execute: end)
        }
        /// Does something after a number of seconds.
        var after: @Sendable (Int, @escaping @Sendable () -> Void) -> Void = { seconds, body in
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: body)
        }
    }
}
