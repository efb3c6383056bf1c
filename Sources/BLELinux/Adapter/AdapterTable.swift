internal import BLEProtocol

/// What the kernel says of the machine's adapters.
protocol AdapterTable: Sendable {
    /// Those that it knows, by number.
    func adapters() throws(SystemError) -> [AdapterFacts]

    /// One adapter; `nil` where there is none of that number.
    func present(_ number: UInt16) throws(SystemError) -> AdapterFacts?

    /// Takes hold of the controller that has this number now.
    func grip(_ number: UInt16) throws(SystemError) -> any AdapterGrip
}

/// The hold of a controller: while it is there what has its number is this one, whatever its address is.
///
/// The kernel doesn't give the number away before everybody has let go.
protocol AdapterGrip: Sendable {
    /// Whether it is there still, and was all the time.
    var isThere: Bool { get }
}

/// The same, by the kernel's own sockets, which takes no capability.
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
        // With the filter that it has from the start it is sent nothing.
        try socket.descriptor.bind(to: .raw(adapter: number))
        return KernelAdapterGrip(socket)
    }
}

/// A raw HCI socket that is bound to the controller: the kernel says by it when that is taken away, and not when it is
/// switched off or configured anew. Source: kernel, `hci_sock_getname` and `hci_hdev_from_sock`.
private struct KernelAdapterGrip: AdapterGrip {
    private let socket: SharedDescriptor

    init(_ socket: SharedDescriptor) { self.socket = socket }

    var isThere: Bool { (try? socket.descriptor.boundAdapter()) != nil }
}
