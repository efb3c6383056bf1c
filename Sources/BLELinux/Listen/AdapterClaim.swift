internal import Glibc

/// Claims an adapter for a served peripheral, against other programs and other peripherals of this one.
///
/// The kernel lets any number of sockets listen on one adapter, and gives each connection to the newest: the others
/// would wait for ever. The claim is a socket's name, which the kernel frees when the program ends, however it ends.
final class AdapterClaim: Sendable {
    private let socket: FileDescriptor

    /// - Throws: `EADDRINUSE` if the adapter is already claimed.
    init(of adapter: String, on kernel: Kernel = .ofThisMachine) throws(SystemError) {
        socket = try FileDescriptor.namedSocket("blestreams/serve/\(adapter)", of: kernel)
    }
}
