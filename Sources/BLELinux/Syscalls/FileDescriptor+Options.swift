internal import CBluetooth
internal import Glibc

extension FileDescriptor {
    /// Reads and clears the socket's pending error; `nil` if there is none. The corresponding C function is
    /// `getsockopt` with `SO_ERROR`.
    func takeError() -> SystemError? {
        let error: Int32? = try? option(SOL_SOCKET, SO_ERROR, initial: 0)
        guard let error, error != 0 else { return nil }
        return SystemError(rawValue: error)
    }

    /// Makes the receive queue as large as this user may; returns nothing, since a smaller one works too. The
    /// corresponding C function is `setsockopt` with `SO_RCVBUFFORCE`, else `SO_RCVBUF`.
    func enlargeReceiveQueue(to octets: Int32) {
        do {
            try setOption(SOL_SOCKET, SO_RCVBUFFORCE, octets)
        } catch {
            // Without CAP_NET_ADMIN, the kernel allows only `net.core.rmem_max`.
            try? setOption(SOL_SOCKET, SO_RCVBUF, octets)
        }
    }

    /// Makes the kernel report the time of each datagram and the number that it dropped. The corresponding C function
    /// is `setsockopt` with `SO_TIMESTAMPNS` and `SO_RXQ_OVFL`.
    func askForReceptionFacts() {
        try? setOption(SOL_SOCKET, CBluetooth_SO_TIMESTAMPNS, Int32(1))
        try? setOption(SOL_SOCKET, CBluetooth_SO_RXQ_OVFL, Int32(1))
    }

    /// Removes the time limit of an attempt to connect, so that only the caller's deadline ends it. The corresponding C
    /// function is `setsockopt` with `SO_SNDTIMEO`.
    func removeConnectTimeout() throws(SystemError) {
        try setOption(SOL_SOCKET, SO_SNDTIMEO, CBluetooth_no_timeout)
    }

    /// The security level (1 to 4) of a connected L2CAP socket and the length of the key in octets.
    /// The corresponding C function is `getsockopt` with `BT_SECURITY`.
    func security() throws(SystemError) -> (level: UInt8, keySize: UInt8) {
        let value = try option(SOL_BLUETOOTH, BT_SECURITY, initial: bt_security())
        return (value.level, value.key_size)
    }

    /// Requests a security level, 1 to 4, for the connection of an L2CAP socket: with a bond's key, or by pairing.
    ///
    /// Until that is done, a connected socket of the attribute channel is neither writable nor, for `send`, connected.
    /// A refusal is not reported here. The corresponding C function is `setsockopt` with `BT_SECURITY`.
    func requireSecurity(_ level: UInt8) throws(SystemError) {
        try setOption(SOL_BLUETOOTH, BT_SECURITY, bt_security(level: level, key_size: 0))
    }

    /// The controller's number of the connection of a connected L2CAP socket; any program may ask. The corresponding C
    /// function is `getsockopt` with `L2CAP_CONNINFO`.
    func connectionHandle() throws(SystemError) -> UInt16 {
        try option(SOL_L2CAP, L2CAP_CONNINFO, initial: l2cap_conninfo()).hci_handle
    }

    /// The PHYs of the connection of a connected L2CAP socket, a bit for each; any program may ask. The corresponding C
    /// function is `getsockopt` with `BT_PHY`.
    func connectionPHYs() throws(SystemError) -> UInt32 {
        // The number of the option: not every header of libbluetooth has it.
        try option(SOL_BLUETOOTH, 14, initial: UInt32(0))
    }

    /// How many datagrams the socket has dropped since it was made; `nil` if the kernel can't say. The corresponding C
    /// function is `getsockopt` with `SO_MEMINFO`.
    func droppedSinceOpening() -> UInt32? {
        let count = kernel.substitute?.dropped(rawValue) ?? CBluetooth_dropped(rawValue)
        return count < 0 ? nil : UInt32(truncatingIfNeeded: count)
    }

    private func setOption<Value>(_ level: Int32, _ name: Int32, _ value: Value) throws(SystemError) {
        try withUnsafePointer(to: value) { pointer throws(SystemError) in
            let octets = UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Value>.size)
            try kernel.call {
                setsockopt(rawValue, level, name, pointer, socklen_t(octets.count))
            } orOf: {
                $0.setOption(rawValue, level, name, octets)
            }
        }
    }

    private func option<Value>(_ level: Int32, _ name: Int32, initial: Value) throws(SystemError) -> Value {
        var value = initial
        try withUnsafeMutablePointer(to: &value) { pointer throws(SystemError) in
            var length = socklen_t(MemoryLayout<Value>.size)
            let octets = UnsafeMutableRawBufferPointer(start: pointer, count: MemoryLayout<Value>.size)
            try kernel.call {
                getsockopt(rawValue, level, name, pointer, &length)
            } orOf: {
                $0.option(rawValue, level, name, into: octets)
            }
        }
        return value
    }
}
