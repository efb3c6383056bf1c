internal import Glibc

// Local sockets with names. A name is not a file; the kernel frees it when its socket is closed, or its program ends.
extension FileDescriptor {
    /// Makes a local socket with a name that no other one has at the same time. The corresponding C functions are
    /// `socket` and `bind`.
    static func namedSocket(
        _ name: String,
        of kernel: Kernel = .ofThisMachine
    ) throws(SystemError) -> FileDescriptor {
        let descriptor = try socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, of: kernel)
        try descriptor.bind(toName: name)
        return descriptor
    }

    /// The same, for one that others connect to, to learn when it is closed. It accepts none: their connections wait,
    /// and end with it. The corresponding C functions are `socket`, `bind` and `listen`.
    static func listeningSocket(named name: String, of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        let descriptor = try socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, of: kernel)
        try descriptor.bind(toName: name)
        try descriptor.listen(backlog: 128)
        return descriptor
    }

    /// Connects to a socket that listens under a name. The corresponding C functions are `socket` and `connect`.
    static func socket(connectedTo name: String, of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        let descriptor = try socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, of: kernel)
        try withAddress(of: name) { address throws(SystemError) in
            let raw = address.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            try kernel.call {
                Glibc.connect(descriptor.rawValue, raw, socklen_t(address.count))
            } orOf: {
                $0.connect(descriptor.rawValue, to: address)
            }
        }
        return descriptor
    }

    private func bind(toName name: String) throws(SystemError) {
        try Self.withAddress(of: name) { address throws(SystemError) in
            let raw = address.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            try kernel.call {
                Glibc.bind(rawValue, raw, socklen_t(address.count))
            } orOf: {
                $0.bind(rawValue, to: address)
            }
        }
    }

    private static func withAddress(
        of name: String,
        _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void
    ) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A name that begins with a zero is not in the file system.
        let octets = [0] + Array(name.utf8)
        let offset = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
        precondition(octets.count <= MemoryLayout.size(ofValue: address.sun_path), "a socket's name is short")
        withUnsafeMutableBytes(of: &address) { $0[offset...].copyBytes(from: octets) }
        try withUnsafePointer(to: &address) { pointer throws(SystemError) in
            try body(UnsafeRawBufferPointer(start: pointer, count: offset + octets.count))
        }
    }
}
