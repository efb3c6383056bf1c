internal import CBluetooth

/// Raw HCI packets, through libbluetooth.
extension FileDescriptor {
    /// Opens an adapter for raw HCI packets. The corresponding C function is `hci_open_dev`.
    static func rawHCI(adapter number: UInt16, of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        let descriptor = try kernel.call {
            hci_open_dev(Int32(number))
        } orOf: {
            $0.openRawHCI(number)
        }
        return FileDescriptor(owning: descriptor, of: kernel)
    }

    /// Throws what keeps this program from sending the HCI commands of a scan, as far as the kernel shows without a
    /// command being sent: Linux 6.1 mistakes the end of any command for that of a connection being made.
    static func checkScanningByHCI(on kernel: Kernel) throws(SystemError) {
        // Requires the same capability, CAP_NET_RAW. What is copied to the socket until it is closed is dropped with
        // it.
        try hciSocket(of: kernel).bind(to: .monitor)
    }

    /// Sends a command and does not wait for its end. The corresponding C function is `hci_send_cmd`.
    func sendCommand(opcode: UInt16, parameters: [UInt8]) throws(SystemError) {
        var parameters = parameters
        let values = parameters
        try kernel.call {
            hci_send_cmd(rawValue, opcode >> 10, opcode & 0x3FF, UInt8(parameters.count), &parameters)
        } orOf: {
            $0.sendCommand(rawValue, opcode, values)
        }
    }

    /// Lets only the events pass that a scan needs. The corresponding C function is `setsockopt` with `HCI_FILTER`.
    func filterScanning() throws(SystemError) {
        try kernel.call {
            CBluetooth_filter_scanning(rawValue)
        } orOf: {
            $0.filterScanning(rawValue)
        }
    }

    /// Lets the events about links pass, and no advertisement; without `CAP_NET_RAW`, only the end of a link. The
    /// corresponding C function is `setsockopt` with `HCI_FILTER` and `SO_ATTACH_FILTER`.
    ///
    /// - Returns: whether the kernel lets all of them pass.
    func filterLinks() throws(SystemError) -> Bool {
        try kernel.call {
            CBluetooth_filter_links(rawValue)
        } orOf: {
            $0.filterLinks(rawValue)
        } == 0
    }
}
