internal import CBluetooth

/// Raw HCI packets, through libbluetooth.
extension FileDescriptor {
    /// Opens an adapter for raw HCI packets. The corresponding C function is `hci_open_dev`.
    static func rawHCI(adapter number: UInt16) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try systemCall { hci_open_dev(Int32(number)) })
    }

    /// Whether this program may send the HCI commands of a scan, as far as the kernel tells without a command being sent:
    /// Linux 6.1 takes the end of any command for that of a connection which is being made.
    static var mayScanByHCI: Bool {
        do throws(SystemError) {
            // Takes the same capability, CAP_NET_RAW. What is copied to the socket until it is closed is dropped with it.
            try hciSocket().bind(to: .monitor)
            return true
        } catch {
            return false
        }
    }

    /// Sends a command and does not wait for its end. The corresponding C function is `hci_send_cmd`.
    func sendCommand(opcode: UInt16, parameters: [UInt8]) throws(SystemError) {
        var parameters = parameters
        try systemCall {
            hci_send_cmd(rawValue, opcode >> 10, opcode & 0x3FF, UInt8(parameters.count), &parameters)
        }
    }

    /// Lets through what a scan needs, and no more. The corresponding C function is `setsockopt` with `HCI_FILTER`.
    func filterScanning() throws(SystemError) {
        try systemCall { CBluetooth_filter_scanning(rawValue) }
    }

    /// Lets through what tells of links, and no advertisement; without `CAP_NET_RAW` no more than that a link ended.
    /// The corresponding C function is `setsockopt` with `HCI_FILTER` and `SO_ATTACH_FILTER`.
    ///
    /// - Returns: Whether the kernel lets through all of it.
    func filterLinks() throws(SystemError) -> Bool {
        try systemCall { CBluetooth_filter_links(rawValue) } == 0
    }
}
