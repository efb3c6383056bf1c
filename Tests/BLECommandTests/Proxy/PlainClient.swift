import Foundation
import Glibc

@testable import ble

/// A client of the proxy that uses no key, over a socket that waits on a thread of its own.
final class PlainClient: Sendable {
    /// What was waited for has not come.
    struct Impatience: Error, CustomStringConvertible {
        let description: String
    }

    /// A message that has come.
    struct Message: Sendable {
        let type: UInt64
        let octets: [UInt8]

        /// One of its fields that are numbers.
        func number(_ field: UInt64) throws -> UInt64 { try ProtobufMessage(decoding: octets[...]).number(field) }

        /// One of its fields that are octets.
        func octets(_ field: UInt64) throws -> [UInt8] { try ProtobufMessage(decoding: octets[...]).octets(field) }
    }

    private let descriptor: Int32

    convenience init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failure = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        self.init(descriptor)
        guard failure == 0 else { throw POSIXError(.init(rawValue: errno) ?? .ECONNREFUSED) }
    }

    /// One whose connection there is; it is closed with the client.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // What doesn't come, or isn't taken, fails the test, rather than to keep its thread.
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) async throws { try send(octets(text)) }

    /// Sends a message.
    func send(_ type: UInt64, _ write: (inout ProtobufWriter) -> Void) throws {
        let message = ProtobufWriter.encode(write)
        let lengths = [UInt64(message.count), type].flatMap(Self.varint)
        try send([0] + lengths + message)
    }

    /// Sends a message so many times, at the pace at which they are taken.
    func send(_ type: UInt64, times: Int) async throws {
        try await onThread { [self] in for _ in 0..<times { try send(type) { _ in } } }
    }

    private func send(_ octets: [UInt8]) throws {
        while true {
            let count = Glibc.send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL))
            // As with reading: nothing has been sent then.
            if count < 0, errno == EINTR { continue }
            guard count == octets.count else { throw Self.failure(count) }
            return
        }
    }

    private static func varint(_ number: UInt64) -> [UInt8] {
        number < 0x80 ? [UInt8(number)] : [UInt8(number & 0x7F) | 0x80] + varint(number >> 7)
    }

    /// Leaves without a word.
    func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The types of the messages that come, up to one of this type.
    func types(until last: UInt64) async throws -> [UInt64] {
        try await messages { $0.type == last }.map(\.type)
    }

    /// The messages that come, up to the one that is waited for.
    func messages(until isLast: @escaping @Sendable (Message) throws -> Bool) async throws -> [Message] {
        try await onThread { [self] in
            var messages: [Message] = []
            while true {
                let message = try message()
                messages.append(message)
                if try isLast(message) { return messages }
            }
        }
    }

    /// The next message of this type.
    func message(_ type: UInt64) async throws -> Message {
        let messages = try await messages { $0.type == type }
        return messages[messages.count - 1]
    }

    private func message() throws -> Message {
        guard try octet() == 0 else { throw POSIXError(.EPROTO) }
        let (length, type) = (try number(), try number())
        return Message(type: type, octets: try (0..<length).map { _ in try octet() })
    }

    /// Whether the other side has closed the connection, once it has.
    func hasLeft() async throws -> Bool {
        try await onThread { [self] in
            var octet: UInt8 = 0
            return read(into: &octet) == 0
        }
    }

    /// Takes what comes, without a look at it, until the other side has closed the connection.
    func drain() async throws {
        try await onThread { [self] in
            var octets = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(descriptor, &octets, octets.count)
                // It may leave without a look at what was sent last.
                if count == 0 || count < 0 && errno == ECONNRESET { return }
                if count < 0, errno != EINTR { throw Self.failure(count) }
            }
        }
    }

    private func octet() throws -> UInt8 {
        var octet: UInt8 = 0
        let count = read(into: &octet)
        guard count == 1 else { throw Self.failure(count) }
        return octet
    }

    /// A socket with a time limit is not read on by itself after a signal, whatever the signal's handler says.
    private func read(into octet: inout UInt8) -> Int {
        while true {
            let count = Glibc.read(descriptor, &octet, 1)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    private static func failure(_ count: Int) -> any Error {
        if count < 0, errno == EAGAIN {
            return Impatience(description: "the proxy has sent or taken nothing for 60 s")
        }
        return count < 0 ? POSIXError(.init(rawValue: errno) ?? .EIO) : POSIXError(.EPIPE)
    }

    private func number() throws -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let octet = try octet()
            value |= UInt64(octet & 0x7F) << shift
            if octet < 0x80 { return value }
            shift += 7
        }
    }

    private func onThread<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
