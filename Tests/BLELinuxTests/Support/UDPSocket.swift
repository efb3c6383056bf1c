import Glibc

@testable import BLELinux

/// A UDP socket on this machine.
struct UDPSocket {
    let shared: SharedDescriptor

    /// Another number for the same socket, for who wants to have it alone.
    func duplicate() throws -> FileDescriptor {
        FileDescriptor(owning: try systemCall { dup(shared.descriptor.rawValue) })
    }

    private let address: sockaddr_in

    init() throws {
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = try systemCall { socket(AF_INET, type, 0) }
        shared = SharedDescriptor(FileDescriptor(owning: number))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try systemCall { bind(number, pointer, length) }
                _ = try systemCall { getsockname(number, pointer, &length) }
            }
        }
        self.address = address
    }

    /// Two that send to each other.
    static func pair() throws -> (near: UDPSocket, far: UDPSocket) {
        let (near, far) = (try UDPSocket(), try UDPSocket())
        try near.connect(to: far)
        try far.connect(to: near)
        return (near, far)
    }

    func connect(to other: UDPSocket) throws {
        var address = other.address
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                _ = try systemCall { Glibc.connect(shared.descriptor.rawValue, pointer, length) }
            }
        }
    }

    /// Leaves room for a few datagrams only.
    func shrinkReceiveQueue() throws {
        var size: Int32 = 1
        _ = try systemCall {
            setsockopt(shared.descriptor.rawValue, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
