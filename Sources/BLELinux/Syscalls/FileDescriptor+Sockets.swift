internal import BLEProtocol
internal import CBluetooth
internal import Glibc

/// An L2CAP socket address: a device and a channel on it.
struct L2CAPAddress: Hashable {
    /// The fixed channel of the Attribute Protocol on LE links (Core Specification, Vol 3, Part A, 2.1).
    static let attributeChannel: UInt16 = 4

    /// The device; `nil` stands for any adapter.
    var device: BluetoothAddress?
    /// The kind of an adapter's address to match if `device` is `nil`.
    var kind: BluetoothAddress.Kind

    init(_ device: BluetoothAddress) {
        self.device = device
        kind = device.kind
    }

    /// Any adapter whose own address is of this kind.
    init(anyAdapter kind: BluetoothAddress.Kind) { self.kind = kind }

    fileprivate init?(_ address: sockaddr_l2) {
        switch Int32(address.l2_bdaddr_type) {
        case BDADDR_LE_PUBLIC: kind = .public
        case BDADDR_LE_RANDOM: kind = .random
        default: return nil
        }
        let octets = address.l2_bdaddr.b
        device = BluetoothAddress(
            littleEndian: [octets.0, octets.1, octets.2, octets.3, octets.4, octets.5],
            kind: kind
        )
    }

    /// The device and the attribute channel.
    var system: sockaddr_l2 {
        var address = systemDevice
        address.l2_cid = Self.attributeChannel.littleEndian
        return address
    }

    /// The device alone.
    fileprivate var systemDevice: sockaddr_l2 {
        var address = sockaddr_l2()
        address.l2_family = sa_family_t(AF_BLUETOOTH)
        address.l2_bdaddr_type = UInt8(kind == .public ? BDADDR_LE_PUBLIC : BDADDR_LE_RANDOM)
        if let octets = device?.littleEndianOctets {
            address.l2_bdaddr.b = (octets[0], octets[1], octets[2], octets[3], octets[4], octets[5])
        }
        return address
    }
}

/// A connection that a listening socket has accepted.
struct AcceptedSocket {
    var socket: SharedDescriptor
    /// Its other end; `nil` if that is not an LE device.
    var peer: BluetoothAddress?
}

/// A channel of the kernel's HCI sockets.
enum HCIChannel {
    /// HCI packets of one adapter.
    case raw(adapter: UInt16)
    /// The management interface of all adapters.
    case control
    /// A copy of all packets of all adapters.
    case monitor
}

extension FileDescriptor {
    /// Makes a socket for ATT over L2CAP that never waits. The corresponding C function is `socket`.
    static func l2capSocket(of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        try socket(AF_BLUETOOTH, Int32(SOCK_SEQPACKET.rawValue), BTPROTO_L2CAP, of: kernel)
    }

    /// Makes a socket for HCI packets or management that never waits. The corresponding C function is `socket`.
    static func hciSocket(of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        try socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue), BTPROTO_HCI, of: kernel)
    }

    static func socket(
        _ domain: Int32,
        _ type: Int32,
        _ kind: Int32,
        of kernel: Kernel
    ) throws(SystemError) -> FileDescriptor {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = try kernel.call {
            Glibc.socket(domain, type | flags, kind)
        } orOf: {
            $0.makeSocket(domain, type, kind)
        }
        return FileDescriptor(owning: number, of: kernel)
    }

    /// Gives the socket its own address. The corresponding C function is `bind`.
    func bind(to address: L2CAPAddress) throws(SystemError) {
        try bind(toSystem: address.system)
    }

    /// Chooses a channel of the HCI sockets. The corresponding C function is `bind`.
    func bind(to channel: HCIChannel) throws(SystemError) {
        var address = sockaddr_hci()
        address.hci_family = sa_family_t(AF_BLUETOOTH)
        switch channel {
        case .raw(let adapter):
            address.hci_dev = adapter
            address.hci_channel = UInt16(HCI_CHANNEL_RAW)
        case .control:
            address.hci_dev = UInt16(HCI_DEV_NONE)
            address.hci_channel = UInt16(HCI_CHANNEL_CONTROL)
        case .monitor:
            address.hci_dev = UInt16(HCI_DEV_NONE)
            address.hci_channel = UInt16(HCI_CHANNEL_MONITOR)
        }
        try bind(toSystem: address)
    }

    /// Starts to connect; `true` if the connection is already up. The corresponding C function is `connect`.
    func connect(to address: L2CAPAddress) throws(SystemError) -> Bool {
        do {
            try connect(toSystem: address.system)
            return true
        } catch .inProgress {
            return false
        }
    }

    /// Makes the kernel raise the security of an existing connection as high as it can, and above this level (1 to 4):
    /// with the keys of a bond, or by pairing. The socket may be closed after this call.
    ///
    /// Before it requests a new channel from a peer, the kernel makes the connection as secure as the channel requires;
    /// this socket is closed before the channel is requested. The same request on the attribute channel would block
    /// that for good if it fails. Source: kernel, `net/bluetooth/l2cap_core.c`, `l2cap_le_start`, and `l2cap_sock.c`,
    /// `BT_SECURITY`. The corresponding C functions are `bind`, `setsockopt` with `BT_SECURITY`, and `connect`.
    func demandSecurity(_ level: UInt8, of peer: L2CAPAddress, from adapter: L2CAPAddress) throws(SystemError) {
        try bind(toSystem: adapter.systemDevice)
        try requireSecurity(level)
        var address = peer.systemDevice
        // Any channel of the range that a peer may assign itself.
        address.l2_psm = UInt16(0x00FF).littleEndian
        do {
            try connect(toSystem: address)
        } catch .inProgress {}
    }

    /// Accepts connections from now on. The corresponding C function is `listen`.
    func listen(backlog: Int32) throws(SystemError) {
        try kernel.call {
            Glibc.listen(rawValue, backlog)
        } orOf: {
            $0.listen(rawValue, backlog: backlog)
        }
    }

    /// Accepts a waiting connection, and reads its other end. The corresponding C function is `accept4`.
    func accept() throws(SystemError) -> AcceptedSocket {
        var address = sockaddr_l2()
        let number = try withUnsafeMutablePointer(to: &address) { pointer throws(SystemError) in
            let octets = UnsafeMutableRawBufferPointer(start: pointer, count: MemoryLayout<sockaddr_l2>.size)
            return try kernel.call {
                CBluetooth_accept(rawValue, pointer)
            } orOf: {
                $0.accept(rawValue, from: octets)
            }
        }
        return AcceptedSocket(
            socket: SharedDescriptor(FileDescriptor(owning: number, of: kernel)),
            peer: L2CAPAddress(address)?.device
        )
    }

    /// The socket's own address. The corresponding C function is `getsockname`.
    func localAddress() throws(SystemError) -> L2CAPAddress? {
        var address = sockaddr_l2()
        try withUnsafeMutablePointer(to: &address) { pointer throws(SystemError) in
            try takeOwnAddress(UnsafeMutableRawBufferPointer(start: pointer, count: MemoryLayout<sockaddr_l2>.size))
        }
        return L2CAPAddress(address)
    }

    /// The number of the adapter that an HCI socket is bound to; throws if the adapter was removed. The corresponding C
    /// function is `getsockname`.
    func boundAdapter() throws(SystemError) -> UInt16 {
        var address = sockaddr_hci()
        try withUnsafeMutablePointer(to: &address) { pointer throws(SystemError) in
            try takeOwnAddress(UnsafeMutableRawBufferPointer(start: pointer, count: MemoryLayout<sockaddr_hci>.size))
        }
        return address.hci_dev
    }

    /// The address of the other end of an L2CAP socket as the kernel knows it now: the identity, once a peer with a
    /// private address has sent it; `nil` for other sockets. The corresponding C function is `getpeername`.
    func peerAddress() throws(SystemError) -> L2CAPAddress? {
        var address = sockaddr_l2()
        try withUnsafeMutablePointer(to: &address) { pointer throws(SystemError) in
            var length = socklen_t(MemoryLayout<sockaddr_l2>.size)
            let raw = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            let octets = UnsafeMutableRawBufferPointer(start: pointer, count: MemoryLayout<sockaddr_l2>.size)
            try kernel.call {
                getpeername(rawValue, raw, &length)
            } orOf: {
                $0.peerAddress(rawValue, into: octets)
            }
        }
        return Int32(address.l2_family) == AF_BLUETOOTH ? L2CAPAddress(address) : nil
    }

    /// Sends one datagram, whole or not at all, without waiting. The corresponding C function is `send`.
    func send(_ octets: [UInt8]) throws(SystemError) {
        try kernel.call {
            CBluetooth_send(rawValue, octets, octets.count)
        } orOf: {
            $0.send(rawValue, octets)
        }
    }

    private func takeOwnAddress(_ octets: UnsafeMutableRawBufferPointer) throws(SystemError) {
        var length = socklen_t(octets.count)
        let raw = octets.baseAddress?.assumingMemoryBound(to: sockaddr.self)
        try kernel.call {
            getsockname(rawValue, raw, &length)
        } orOf: {
            $0.ownAddress(rawValue, into: octets)
        }
    }

    private func bind<Address>(toSystem address: Address) throws(SystemError) {
        try withUnsafePointer(to: address) { pointer throws(SystemError) in
            let octets = UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Address>.size)
            let raw = UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            try kernel.call {
                Glibc.bind(rawValue, raw, socklen_t(octets.count))
            } orOf: {
                $0.bind(rawValue, to: octets)
            }
        }
    }

    private func connect<Address>(toSystem address: Address) throws(SystemError) {
        try withUnsafePointer(to: address) { pointer throws(SystemError) in
            let octets = UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Address>.size)
            let raw = UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            try kernel.call {
                Glibc.connect(rawValue, raw, socklen_t(octets.count))
            } orOf: {
                $0.connect(rawValue, to: octets)
            }
        }
    }
}
