import Glibc
import Synchronization

@testable import BLELinux

/// A listening socket of this machine, to which a test connects.
final class LocalListener: Sendable {
    let socket: SharedDescriptor
    private let name: String
    private let clients = Mutex<[SharedDescriptor]>([])

    private static let numbers = Atomic(0)

    init() throws {
        let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        name = "\0blestreams-test-\(getpid())-\(number)"
        socket = SharedDescriptor(FileDescriptor(owning: try Self.makeSocket()))
        try Self.withAddress(name) { pointer, length in bind(socket.descriptor.rawValue, pointer, length) }
        try socket.descriptor.listen(backlog: 8)
    }

    /// Connects; the other end is kept for as long as the listener lives.
    func connect() throws {
        let client = SharedDescriptor(FileDescriptor(owning: try Self.makeSocket()))
        try Self.withAddress(name) { pointer, length in Glibc.connect(client.descriptor.rawValue, pointer, length) }
        clients.withLock { $0.append(client) }
    }

    private static func makeSocket() throws(SystemError) -> Int32 {
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return try systemCall { Glibc.socket(AF_UNIX, type, 0) }
    }

    private static func withAddress(
        _ name: String,
        _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(name.utf8)
        withUnsafeMutableBytes(of: &address) { $0[2...].copyBytes(from: octets) }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try systemCall { call(pointer, socklen_t(2 + octets.count)) }
            }
        }
    }
}
