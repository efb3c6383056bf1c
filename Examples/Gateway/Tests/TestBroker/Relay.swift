import Foundation
import Synchronization

/// Passes connections on to a port of 127.0.0.1, until they are cut or frozen.
public final class Relay: Sendable {
    private struct State {
        var pairs: [(Int32, Int32)] = []
        var isOpen = true
        var isFrozen = false
    }

    /// The port to connect to.
    public let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex(State())

    /// Listens on a free port.
    public init(to target: Int) throws {
        (listener, port) = listeningSocket()
        self.target = target
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                guard let self else {
                    close(socket)
                    return
                }
                serve(socket)
            }
        }
    }

    deinit { stop() }

    private func serve(_ socket: Int32) {
        let other = connectedSocket(target)
        let isOpen = state.withLock { state in
            if state.isOpen { state.pairs.append((socket, other)) }
            return state.isOpen
        }
        guard isOpen, other >= 0 else {
            for socket in [socket, other] { close(socket) }
            return
        }
        for (from, to) in [(socket, other), (other, socket)] {
            Thread.detachNewThread { [weak self] in
                var buffer = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(from, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    guard self?.state.withLock({ $0.isFrozen }) != true else { continue }
                    _ = send(to, buffer, count, Int32(MSG_NOSIGNAL))
                }
                shutdown(to, Int32(SHUT_RDWR))
            }
        }
    }

    /// Ends all connections; new ones are accepted.
    public func cut() {
        let pairs = state.withLock { state in
            defer { state.pairs = [] }
            return state.pairs
        }
        for socket in pairs.flatMap({ [$0.0, $0.1] }) { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Whether what comes is swallowed, though the connections stay: as if a cable were pulled out.
    public var isFrozen: Bool {
        get { state.withLock { $0.isFrozen } }
        set { state.withLock { $0.isFrozen = newValue } }
    }

    /// Ends all connections, and accepts none from now on.
    public func stop() {
        state.withLock { $0.isOpen = false }
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }
}

/// A socket that is connected to a port of 127.0.0.1; negative if that fails.
public func connectedSocket(_ port: Int) -> Int32 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard result == 0 else {
        close(socket)
        return -1
    }
    return socket
}
