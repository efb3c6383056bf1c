/// What the kernel reports about the machine's adapters.
protocol AdapterTable: Sendable {
    /// The adapters that it knows, by number.
    func adapters() throws(SystemError) -> [AdapterFacts]

    /// One adapter; `nil` if none has that number.
    func present(_ number: UInt16) throws(SystemError) -> AdapterFacts?

    /// Holds the controller that has this number now.
    func grip(_ number: UInt16) throws(SystemError) -> any AdapterGrip
}

/// A hold on a controller: while the controller is there, its number belongs to it, whatever its address is.
///
/// The kernel does not reassign the number before every hold is released.
protocol AdapterGrip: Sendable {
    /// Whether the controller is still there, without interruption.
    var isThere: Bool { get }
}

/// The table of the kernel's own sockets, which requires no capability.
struct KernelAdapterTable: AdapterTable {
    private let socket: SharedDescriptor

    init(_ socket: SharedDescriptor) { self.socket = socket }

    func adapters() throws(SystemError) -> [AdapterFacts] { try socket.descriptor.adapters() }

    func present(_ number: UInt16) throws(SystemError) -> AdapterFacts? {
        do throws(SystemError) {
            return try socket.descriptor.adapter(number)
        } catch .noDevice {
            return nil
        }
    }

    func grip(_ number: UInt16) throws(SystemError) -> any AdapterGrip {
        let socket = SharedDescriptor(try FileDescriptor.hciSocket(of: self.socket.descriptor.kernel))
        // With its initial filter it receives nothing.
        try socket.descriptor.bind(to: .raw(adapter: number))
        return KernelAdapterGrip(socket)
    }
}

/// A raw HCI socket bound to the controller: it shows when the controller is removed, but not when it is switched off
/// or reconfigured. Source: kernel, `hci_sock_getname` and `hci_hdev_from_sock`.
private struct KernelAdapterGrip: AdapterGrip {
    private let socket: SharedDescriptor

    init(_ socket: SharedDescriptor) { self.socket = socket }

    var isThere: Bool { (try? socket.descriptor.boundAdapter()) != nil }
}
