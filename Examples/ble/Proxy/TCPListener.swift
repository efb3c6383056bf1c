import BLEStreams
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// Accepts connections.
final class TCPListener: Sendable {
    private let descriptor: Int32

    private struct Spare {
        /// Closed for a moment when no descriptor is left, so that a connection can be accepted and turned away: while
        /// it waits, the event handler is called again and again.
        var descriptor = TCPListener.openSpare()
        /// Whether the lack of descriptors was reported, and no connection has come in since.
        var isTold = false
    }

    private let spare = Mutex(Spare())
    private let log: Log

    /// Where it listens, as `--listen` takes it: `127.0.0.1:6053`.
    let endpoint: String

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - host: an address or a name of this machine; `nil`: all its addresses.
    ///   - port: 0 for any free port.
    ///   - log: reports that no descriptor is left for a connection.
    /// - Throws: a `BLEError` with the system's reason.
    init(host: String?, port: UInt16, _ log: Log) throws {
        self.log = log
        Self.prepareTimers()
        let (descriptor, failure) = Self.open(host, port)
        guard descriptor >= 0 else { throw BLEError.cannotListen(Self.endpoint(host, port), failure) }
        self.descriptor = descriptor
        endpoint = Self.endpoint(host, Self.port(of: descriptor) ?? port)
    }

    /// A host and a port; an IPv6 address has brackets, as it contains colons itself.
    static func endpoint(_ host: String?, _ port: UInt16) -> String {
        let host = host ?? "*"
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    deinit {
        close(descriptor)
        spare.withLock { _ = close($0.descriptor) }
    }

    /// The connections, as they arrive; the stream never ends by itself.
    var connections: BLEStream<TCPConnection> {
        BLEStream(buffer: .oldest(64)) { [self] feed in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            source.setEventHandler { [self] in
                let accepted = accept(descriptor, nil, nil)
                if accepted >= 0, let connection = TCPConnection(accepted) {
                    spare.withLock { $0.isTold = false }
                    return feed.send(connection)
                }
                let failure = errno
                // It has been closed for want of a second descriptor.
                if accepted >= 0 { return tell(failure) }
                if [EMFILE, ENFILE].contains(failure) {
                    if !turnAway() { Self.pause(source) }
                    return tell(failure)
                }
                // After these errors, the next connection may succeed; the others are permanent.
                guard [EAGAIN, EINTR, ECONNABORTED, EPROTO, ENETDOWN, EHOSTUNREACH].contains(failure) else {
                    return feed.finish(throwing: BLEError.cannotListen("for connections", failure))
                }
            }
            source.activate()
            return { source.cancel() }
        }
    }

    private func tell(_ failure: Int32) {
        let isKnown = spare.withLock { spare in
            defer { spare.isTold = true }
            return spare.isTold
        }
        if !isKnown { log.say(BLEError.cannotListen("for more connections", failure).messageText) }
    }

    /// Turns away a connection for which there is no descriptor; returns whether it could.
    private func turnAway() -> Bool {
        spare.withLock { spare in
            if spare.descriptor < 0 {
                // If there are descriptors again, the connection is accepted next, and not turned away.
                spare.descriptor = Self.openSpare()
                return spare.descriptor >= 0
            }
            close(spare.descriptor)
            let unwanted = accept(descriptor, nil, nil)
            if unwanted >= 0 { close(unwanted) }
            spare.descriptor = Self.openSpare()
            return spare.descriptor >= 0
        }
    }

    /// Lets connections wait for a second: by then, there may be descriptors.
    private static func pause(_ source: any DispatchSourceRead) {
        source.suspend()
        DispatchQueue.global().asyncAfter(deadline: .now() + 1) { source.resume() }
    }

    /// Has Dispatch open what it counts the pause with: a descriptor, which it can't open any more once none is left.
    private static func prepareTimers() {
        let passed = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { passed.signal() }
        passed.wait()
    }

    private static func openSpare() -> Int32 { Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC) }

    private static func open(_ host: String?, _ port: UInt16) -> (descriptor: Int32, failure: Int32) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let first = found else { return (-1, EADDRNOTAVAIL) }
        defer { freeaddrinfo(found) }
        // If all addresses are meant, an IPv6 address accepts IPv4 connections too.
        let all = sequence(first: first) { $0.pointee.ai_next }.map(\.pointee)
        var failure = EADDRNOTAVAIL
        for address in all.filter({ $0.ai_family == AF_INET6 }) + all.filter({ $0.ai_family != AF_INET6 }) {
            let kind = address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let descriptor = socket(address.ai_family, kind, address.ai_protocol)
            guard descriptor >= 0 else {
                failure = errno
                continue
            }
            setOption(SOL_SOCKET, SO_REUSEADDR, 1, of: descriptor)
            if address.ai_family == AF_INET6 { setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0, of: descriptor) }
            if bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, 16) == 0 {
                return (descriptor, 0)
            }
            failure = errno
            close(descriptor)
        }
        return (-1, failure)
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let failure = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port is at the same place in both versions.
        return failure == 0 ? UInt16(bigEndian: storage.sin6_port) : nil
    }
}

extension BLEError {
    fileprivate static func cannotListen(_ object: String, _ code: Int32) -> BLEError {
        let remedy =
            switch code {
            case EADDRINUSE: "End the program that uses this port, or choose another one with --listen HOST:PORT."
            case EMFILE, ENFILE: "Allow more open files: `ulimit -n` in a shell, LimitNOFILE= in a service."
            default: "Choose an address of this machine and a port with --listen HOST:PORT."
            }
        var error = BLEError(
            .systemFailure,
            operation: "listen",
            object: object,
            cause: String(cString: strerror(code)),
            remedy: remedy
        )
        error.systemError = code
        return error
    }
}

/// Sets an option of a socket; a system that doesn't know it does without.
func setOption(_ level: Int32, _ option: Int32, _ value: Int32, of descriptor: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}
