import BLEProtocol
import Glibc
import Synchronization
import Testing

@testable import BLELinux

/// The other end of a bus connection: a listening socket that takes one client at a time, lets it in, and notes what it
/// says.
///
/// It speaks the protocol of the D-Bus Specification by itself, so what libdbus makes of us is read by somebody else.
final class FakeBus: Sendable {
    let bus: SystemBus
    private let listener: FileDescriptor
    private let loop: EventLoop
    private let state: Mutex<State>
    private let continuation: AsyncStream<WireMessage>.Continuation
    /// What the client has sent, in order.
    let messages: AsyncStream<WireMessage>

    private struct State {
        var client: SharedDescriptor?
        var registrations: [EventLoop.Registration] = []
        var received: [UInt8] = []
        var isIn = false
        var nextSerial: UInt32 = 100
    }

    private static let numbers = Atomic(0)

    /// A name that no other bus has.
    static func newName() -> String {
        "blestreams-test-bus-\(getpid())-\(numbers.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    /// Where a bus with a name is reached.
    static func place(of name: String) -> SystemBus { SystemBus(address: "unix:abstract=\(name)") }

    /// - Parameter loop: Where the bus works; another one than the client's.
    init(on loop: EventLoop, as name: String = FakeBus.newName()) throws {
        self.loop = loop
        bus = Self.place(of: name)
        listener = try Self.listen("\0" + name)
        state = Mutex(State())
        (messages, continuation) = AsyncStream.makeStream()
        let registration = try loop.register(listener, for: .readable) { [weak self] _, _ in self?.accept() }
        state.withLock { $0.registrations = [registration] }
    }

    deinit { disconnect() }

    /// A socket that listens, and that nobody accepts from.
    static func listen(_ name: String) throws -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let listener = FileDescriptor(owning: try systemCall { socket(AF_UNIX, type, 0) })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(name.utf8)
        withUnsafeMutableBytes(of: &address) { $0[2...].copyBytes(from: octets) }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try systemCall { bind(listener.rawValue, pointer, socklen_t(2 + octets.count)) }
            }
        }
        try systemCall { Glibc.listen(listener.rawValue, 1) }
        return listener
    }

    private func accept() {
        let number = Glibc.accept(listener.rawValue, nil, nil)
        guard number >= 0 else { return }
        let client = SharedDescriptor(FileDescriptor(owning: number))
        state.withLock { ($0.client, $0.isIn, $0.received) = (client, false, []) }
        let registration = try? loop.register(client.descriptor, for: .readable) { [weak self] _, _ in self?.read() }
        if let registration { state.withLock { $0.registrations.append(registration) } }
    }

    private func read() {
        guard let client = state.withLock({ $0.client }), let octets = try? client.descriptor.read(4096),
            !octets.isEmpty
        else { return finish() }
        let (lines, messages) = state.withLock { state in
            state.received += octets
            return (Self.takeLines(&state), Self.takeMessages(&state))
        }
        for line in lines { letIn(line) }
        for message in messages { continuation.yield(message) }
    }

    private func finish() {
        disconnect()
        continuation.finish()
    }

    /// Ends the connection, as a bus does that is stopped.
    func disconnect() {
        let (client, registrations) = state.withLock { state in
            defer {
                state.client = nil
                // The listener's stays.
                state.registrations = Array(state.registrations.prefix(1))
            }
            return (state.client, state.registrations)
        }
        guard let client else { return }
        for registration in registrations.dropFirst() { loop.unregister(registration, of: client.descriptor) }
        shutdown(client.descriptor.rawValue, Int32(SHUT_RDWR))
    }

    /// The handshake: any user is who it says.
    private func letIn(_ line: String) {
        if line.contains("AUTH EXTERNAL") {
            write(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8))
        } else if line.contains("NEGOTIATE_UNIX_FD") {
            write(Array("ERROR\r\n".utf8))
        }
    }

    private static func takeLines(_ state: inout State) -> [String] {
        var lines: [String] = []
        while !state.isIn, let end = state.received.firstIndex(of: 10) {
            let line = String(decoding: state.received[...end].filter { $0 > 31 }, as: UTF8.self)
            state.received.removeSubrange(...end)
            if line == "BEGIN" { state.isIn = true } else { lines.append(line) }
        }
        return lines
    }

    private static func takeMessages(_ state: inout State) -> [WireMessage] {
        var messages: [WireMessage] = []
        while state.isIn, let length = WireMessage.length(in: state.received), state.received.count >= length {
            messages.append(WireMessage(reading: Array(state.received[..<length])))
            state.received.removeSubrange(..<length)
        }
        return messages
    }

    /// Writes what a test has made by hand.
    func write(_ octets: [UInt8]) {
        guard let client = state.withLock({ $0.client }) else { return }
        _ = octets.withUnsafeBytes { Glibc.send(client.descriptor.rawValue, $0.baseAddress, $0.count, 0) }
    }

    /// Sends a message; answers its number.
    @discardableResult
    func send(_ message: WireMessage) -> UInt32 {
        let serial = state.withLock { state in
            defer { state.nextSerial += 1 }
            return state.nextSerial
        }
        write(message.octets(serial: serial))
        return serial
    }

    /// The next message of the client, which must be this.
    func next(_ member: String) async throws -> WireMessage {
        for await message in messages {
            guard message.member == member else { throw Unexpected(message: message, wanted: member) }
            return message
        }
        throw Unexpected(message: nil, wanted: member)
    }

    struct Unexpected: Error {
        var message: WireMessage?
        var wanted: String
    }
}

extension Trait where Self == ConditionTrait {
    /// The client's end of a bus is libdbus.
    static var needsLibDBus: Self {
        .enabled("libdbus-1.so.3 is not installed on this machine") { LibDBus.shared != nil }
    }
}
