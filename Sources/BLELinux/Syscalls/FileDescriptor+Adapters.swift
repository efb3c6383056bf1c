internal import BLEProtocol
internal import CBluetooth
internal import Glibc

/// What the kernel's device list says about an adapter; any program may read it.
struct AdapterFacts: Hashable {
    /// The number in `hci0`.
    var number: UInt16
    /// The public address; all zero if the controller has none.
    var address: BluetoothAddress
    /// Its state, a bit for each of the kernel's `HCI_UP`, `HCI_INIT` and so on.
    var flags: UInt32
    /// Page 0 of the controller's features, as it has reported them; all zero before it has. Source: Core
    /// Specification, Vol 2, Part C, 3.3.
    var features: [UInt8]

    /// Whether it is powered; an adapter that is about to switch itself off counts as off.
    var isUp: Bool { flags & 1 << UInt32(HCI_UP) != 0 }

    /// Whether the kernel is starting the controller, or has reset it and has no answer yet.
    var isStarting: Bool { flags & (1 << UInt32(HCI_INIT) | 1 << Self.resetFlag) != 0 }

    /// The kernel's `HCI_RESET`, which libbluetooth's header lacks. Source: kernel, `include/net/bluetooth/hci.h`.
    static let resetFlag: UInt32 = 9

    /// Whether the kernel can't use the controller before it is configured, mostly with its address. Source: kernel,
    /// `hci_power_on`.
    var isUnconfigured: Bool { flags & 1 << UInt32(HCI_RAW) != 0 }

    /// Whether the controller has reported its features.
    var isKnown: Bool { features.contains { $0 != 0 } }

    /// Whether it has reported its features, and Low Energy is not among them.
    var lacksLowEnergy: Bool { isKnown && !(features.count > 4 && features[4] & 0x40 != 0) }

    /// Whether the controller has no public address, and so uses a static random one.
    var hasNoPublicAddress: Bool { address.rawValue == 0 }
}

extension FileDescriptor {
    /// The adapters that the kernel knows, by number. The corresponding C function is `ioctl` with `HCIGETDEVLIST`.
    func adapters() throws(SystemError) -> [AdapterFacts] { try adaptersAsListed().sorted { $0.number < $1.number } }

    /// More than any machine has, and fewer than the kernel lists at most. libbluetooth's own limit is 16; the kernel
    /// leaves out those that were plugged in first.
    private static let mostAdapters = 256

    /// The adapters in the kernel's own order, in which it looks up the adapter of a socket that is bound to an
    /// address. Source: kernel, `hci_get_dev_list` and `hci_get_route`.
    func adaptersAsListed() throws(SystemError) -> [AdapterFacts] {
        var numbers = [UInt16](repeating: 0, count: Self.mostAdapters)
        var flags = [UInt32](repeating: 0, count: Self.mostAdapters)
        let count = try kernel.call {
            CBluetooth_list_adapters(rawValue, &numbers, &flags, Int32(Self.mostAdapters))
        } orOf: {
            $0.listAdapters(rawValue, into: &numbers)
        }
        var found: [AdapterFacts] = []
        for number in numbers.prefix(Int(count)) {
            // One that was unplugged meanwhile is left out.
            if let facts = try? adapter(number) { found.append(facts) }
        }
        return found
    }

    /// One adapter; throws ``SystemError/noDevice`` if none has that number. The corresponding C function is `ioctl`
    /// with `HCIGETDEVINFO`.
    func adapter(_ number: UInt16) throws(SystemError) -> AdapterFacts {
        if kernel.substitute != nil { return try adapterOfSubstitute(number) }
        var info = hci_dev_info()
        info.dev_id = number
        try systemCall { CBluetooth_adapter_info(rawValue, &info) }
        return AdapterFacts(
            number: number,
            address: BluetoothAddress(info.bdaddr, kind: .public),
            flags: info.flags,
            features: withUnsafeBytes(of: &info.features) { Array($0) }
        )
    }

    private func adapterOfSubstitute(_ number: UInt16) throws(SystemError) -> AdapterFacts {
        let nowhere = BluetoothAddress(rawValue: 0, kind: .public)
        var facts = AdapterFacts(number: number, address: nowhere, flags: 0, features: [])
        try kernel.call {
            0
        } orOf: {
            $0.readAdapter(rawValue, &facts)
        }
        return facts
    }

    /// Closes an adapter even if its controller doesn't answer; requires `CAP_NET_ADMIN`, and may block for some
    /// seconds. The corresponding C function is `ioctl` with `HCIDEVDOWN`.
    func closeAdapter(_ number: UInt16) throws(SystemError) {
        try kernel.call {
            CBluetooth_close_adapter(rawValue, number)
        } orOf: {
            $0.closeAdapter(rawValue, number)
        }
    }

    /// Resets the USB device whose file this is, and binds its drivers again; may block for some seconds.
    /// ``SystemError/noDevice``: it came out of the reset as another device, and must be looked up again. The
    /// corresponding C function is `ioctl` with `USBDEVFS_RESET`.
    func resetUSBDevice() throws(SystemError) {
        try kernel.call {
            CBluetooth_reset_usb_device(rawValue)
        } orOf: {
            $0.resetUSBDevice(rawValue)
        }
    }

    /// Whether an adapter is connected to an LE device; any program may ask, on any HCI socket. The corresponding C
    /// function is `ioctl` with `HCIGETCONNLIST`.
    func isConnected(_ adapter: UInt16, to peer: BluetoothAddress) throws(SystemError) -> Bool {
        var address = L2CAPAddress(peer).system.l2_bdaddr
        return try kernel.call {
            CBluetooth_is_connected(rawValue, adapter, &address)
        } orOf: {
            $0.isConnected(rawValue, adapter, peer)
        } > 0
    }

    /// The LE devices to which an adapter has a link that is up, as the central or as the peripheral; any program may
    /// ask, on any HCI socket. The kind of an address is not reported. The corresponding C function is `ioctl` with
    /// `HCIGETCONNLIST`.
    func peers(of adapter: UInt16, asCentral isCentral: Bool) throws(SystemError) -> [BluetoothAddress] {
        if kernel.substitute != nil {
            var peers: [BluetoothAddress] = []
            try kernel.call {
                0
            } orOf: {
                $0.listPeers(rawValue, adapter, asCentral: isCentral, into: &peers)
            }
            return peers
        }
        var peers = [bdaddr_t](repeating: bdaddr_t(), count: 256)
        let count = try systemCall {
            CBluetooth_list_peers(rawValue, adapter, isCentral ? 1 : 0, &peers, Int32(peers.count))
        }
        return peers.prefix(Int(count)).map { BluetoothAddress($0, kind: .public) }
    }

    /// The LE devices to which an adapter is connecting for any program, or for which it waits, or whose attempt the
    /// kernel has not cleaned up yet; any program may ask, on any HCI socket. The kind of an address is not reported.
    /// The corresponding C function is `ioctl` with `HCIGETCONNLIST`.
    func attempts(of adapter: UInt16) throws(SystemError) -> [BluetoothAddress] {
        if kernel.substitute != nil {
            var peers: [BluetoothAddress] = []
            try kernel.call {
                0
            } orOf: {
                $0.listAttempts(rawValue, adapter, into: &peers)
            }
            return peers
        }
        var peers = [bdaddr_t](repeating: bdaddr_t(), count: 256)
        let count = try systemCall { CBluetooth_list_attempts(rawValue, adapter, &peers, Int32(peers.count)) }
        return peers.prefix(Int(count)).map { BluetoothAddress($0, kind: .public) }
    }

    /// The handles of an adapter's links, in either role, Bluetooth Classic's among them, which share the controller's
    /// handles; any program may ask, on any HCI socket. The corresponding C function is `ioctl` with `HCIGETCONNLIST`.
    func handles(ofLinksOf adapter: UInt16) throws(SystemError) -> [UInt16] {
        if kernel.substitute != nil {
            var handles: [UInt16] = []
            try kernel.call {
                0
            } orOf: {
                $0.listHandles(rawValue, adapter, into: &handles)
            }
            return handles
        }
        var handles = [UInt16](repeating: 0, count: 256)
        let count = try systemCall {
            CBluetooth_list_handles(rawValue, adapter, &handles, Int32(handles.count))
        }
        return Array(handles.prefix(Int(count)))
    }
}

extension BluetoothAddress {
    /// Converts the kernel's form of an address.
    fileprivate init(_ system: bdaddr_t, kind: Kind) {
        let octets = system.b
        var value: UInt64 = 0
        for octet in [octets.5, octets.4, octets.3, octets.2, octets.1, octets.0] { value = value << 8 | UInt64(octet) }
        self.init(rawValue: value, kind: kind)
    }
}
