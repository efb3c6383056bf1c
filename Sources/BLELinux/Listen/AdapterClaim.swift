internal import Glibc

/// Says to other programs, and to others in this one, that a peripheral is served on an adapter.
///
/// The kernel lets any number of sockets listen on one adapter, and gives each connection to the newest: the others would
/// wait for ever. The claim is a socket's name, which the kernel takes back when the program ends, however it does.
final class AdapterClaim: Sendable {
    private let socket: FileDescriptor

    /// - Throws: `EADDRINUSE` where somebody has it.
    init(of adapter: String, on kernel: Kernel = .ofThisMachine) throws(SystemError) {
        socket = try FileDescriptor.namedSocket("blestreams/serve/\(adapter)", of: kernel)
    }
}
