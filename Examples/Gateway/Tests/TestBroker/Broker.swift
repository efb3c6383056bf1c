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
        stop()
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

    /// Ends it in order, and returns when it has ended; it keeps sessions and messages.
    public func stop() {
        let program = process.withLock { $0.take() }
        program?.end(SIGTERM)
    }
}

/// Makes a temporary folder.
public func temporaryFolder(_ name: String) throws -> String {
    let path = NSTemporaryDirectory() + "/\(name)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
}

/// A port of 127.0.0.1 that nobody uses.
public func freePort() -> Int {
    let (socket, port) = listeningSocket()
    close(socket)
    return port
}

/// A socket that listens on 127.0.0.1, and its port.
public func listeningSocket() -> (socket: Int32, port: Int) {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            _ = bind(socket, address, length)
            _ = listen(socket, 8)
            _ = getsockname(socket, address, &length)
        }
    }
    return (socket, Int(UInt16(bigEndian: address.sin_port)))
}

/// Everything that a server of 127.0.0.1 answers to an HTTP request.
public func page(port: Int) -> String {
    let socket = connectedSocket(port)
    guard socket >= 0 else { return "" }
    defer { close(socket) }
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
