import Foundation
import Synchronization

/// A mosquitto of its own, on a free port of 127.0.0.1, with everything in a temporary folder.
public final class Broker: Sendable {
    /// Where mosquitto is; `nil` if it or its subscriber is not installed. Tests that need it are then skipped.
    public static let program =
        Collector.program == nil
        ? nil
        : ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/usr/bin/mosquitto"]
            .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// What a skipped test says.
    public static let skipReason = "mosquitto is not installed (apt-get install mosquitto mosquitto-clients)"

    /// The port.
    public let port: Int
    /// The folder of its files; removed with the broker.
    public let folder: String

    private let settings: String
    private let process = Mutex<RunningProgram?>(nil)

    /// Starts a broker, and returns when it accepts connections.
    ///
    /// - Parameter settings: lines for its configuration; they can refer to files in the folder.
    public init(_ settings: String = "allow_anonymous true", in folder: String? = nil) async throws {
        self.folder = try folder ?? temporaryFolder("broker")
        self.settings = settings
        port = freePort()
        try await start()
    }

    deinit {
        process.withLock { $0 }?.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts it again, on the same port, with what it has kept.
    public func start() async throws {
        let configuration = """
            listener \(port) 127.0.0.1
            persistence true
            persistence_location \(folder)/
            max_queued_messages 1000000
            log_dest stderr
            log_type error
            log_type warning
            log_type notice
            log_type information
            log_type subscribe
            \(ProcessInfo.processInfo.userName == "root" ? "user root" : "")
            \(settings)

            """
        try configuration.write(toFile: "\(folder)/mosquitto.conf", atomically: true, encoding: .utf8)
        let program = try RunningProgram(Self.program ?? "mosquitto", ["-c", "\(folder)/mosquitto.conf"])
        process.withLock { $0 = program }
        try await program.wait { $0.contains(" running") }
    }

    /// Waits until the broker says that a client has subscribed.
    public func waitForSubscription(of client: String) async throws {
        let program = process.withLock { $0 }
        try await program?.wait { $0.contains(": \(client) ") }
    }

    /// Lets it read its files again, such as the access rules; the connections stay.
    public func reload() { process.withLock { $0 }?.signal(SIGHUP) }

    /// Ends it in order, and returns when it has ended; it keeps sessions and messages.
    public func stop() async {
        let program = process.withLock { $0.take() }
        await program?.end(SIGTERM)
    }
}

/// Makes a temporary folder.
public func temporaryFolder(_ name: String) throws -> String {
    let path = NSTemporaryDirectory() + "/\(name)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
}

/// A port of 127.0.0.1 that nobody uses: not among those that the kernel gives out, and never one that was given out
/// here before.
public func freePort() -> Int {
    while true {
        let port = nextPort.withLock { port in
            defer { port = port < 31_999 ? port + 1 : 10_000 }
            return port
        }
        let socket = listeningSocket(port).socket
        guard socket >= 0 else { continue }
        close(socket)
        return port
    }
}

/// Two processes of tests begin at different ports.
private let nextPort = Mutex(10_000 + Int(getpid()) * 101 % 22_000)

/// A socket that listens on 127.0.0.1, and its port; a negative one if somebody has that port.
///
/// - Parameter port: 0: one that the kernel chooses.
public func listeningSocket(_ port: Int = 0) -> (socket: Int32, port: Int) {
    // No program that a test starts keeps the port.
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(socket, address, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, address, &length) == 0
        }
    }
    guard isBound else {
        close(socket)
        return (-1, 0)
    }
    return (socket, Int(UInt16(bigEndian: address.sin_port)))
}

/// Everything that a server of 127.0.0.1 answers to an HTTP request. It waits on a thread of its own.
public func page(port: Int) async -> String {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: blockingPage(port: port)) }
    }
}

private func blockingPage(port: Int) -> String {
    let socket = connectedSocket(port)
    guard socket >= 0 else { return "" }
    defer { close(socket) }
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let request = Array("GET /metrics HTTP/1.0\r\n\r\n".utf8)
    _ = send(socket, request, request.count, Int32(MSG_NOSIGNAL))
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
        answer += buffer[..<count]
    }
}
