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
            "metrics: port \(port) of 127.0.0.1: \(String(cString: strerror(number))). Choose another `metrics.port`."
        }
    }

    /// The most connections at once; more are closed.
    private static let limit = 8
    /// How long a connection may take.
    private static let timeout = 5

    private let queue = DispatchQueue(label: "metrics")
    private let listener: any DispatchSourceRead
    private let text: @Sendable () -> String
    private let open = Mutex(0)
    /// Ends when the port is free.
    private let end: AsyncStream<Void>

    /// Listens until the server is closed or released.
    init(port: Int, text: @escaping @Sendable () -> String) throws(ListenError) {
        let socket = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0
        )
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
            defer { Glibc.close(socket) }
            throw ListenError(port: port, number: errno)
        }
        self.text = text
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

    deinit { listener.cancel() }

    /// Listens no more; another server can have the port when this returns.
    func close() async {
        listener.cancel()
        for await _ in end {}
    }

    private func accept(_ socket: Int32) {
        let connection = Glibc.accept(socket, nil, nil)
        guard connection >= 0 else { return }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        guard open.withLock({ $0 < Self.limit }) else {
            Glibc.close(connection)
            return
        }
        open.withLock { $0 += 1 }
        let channel = DispatchIO(type: .stream, fileDescriptor: connection, queue: queue) { [weak self] _ in
            Glibc.close(connection)
            self?.open.withLock { $0 -= 1 }
        }
        channel.setLimit(lowWater: 1)
        queue.asyncAfter(deadline: .now() + .seconds(Self.timeout)) { channel.close(flags: .stop) }
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
}
