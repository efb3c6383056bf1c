import Foundation
import Testing

/// `ble proxy` as a program on the network meets it; the kernel lab has it meet Home Assistant's own client.
@Suite(.timeLimit(.minutes(2))) struct ProxyTests {
    @Test func `it greets, tells what it is, passes advertisements on, and ends at Ctrl-C`() async throws {
        let run = try CommandRun(["proxy", "--listen", "127.0.0.1:0", "--name", "shed", "--json"])
        let announcement = try object(await run.line())
        #expect(announcement["event"] as? String == "listening" && announcement["name"] as? String == "shed")
        let endpoint = try #require(announcement["endpoint"] as? String)
        let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })

        let client = try PlainClient(port: port)
        try await client.send("00 00 01" + "00 00 09" + "00 02 42 0801")
        let types = try await client.types(until: 93)
        #expect(types.prefix(2) == [2, 10] && types.contains(126))
        try await client.send("00 00 05")
        #expect(try await client.types(until: 6).last == 6)
        #expect(try await client.hasLeft())

        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130 && end.complaint.contains("everybody who reaches the port"))
    }

    @Test func `a key that is none is refused, and not repeated`() async throws {
        let result = try await CommandRun.run("proxy", "--key", "c2VjcmV0")
        #expect(result.status == 2 && result.complaint.contains("--make-key"))
        #expect(!result.complaint.contains("c2VjcmV0"))
        let file = try await CommandRun.run("proxy", "--key", "@/nowhere/key")
        #expect(file.status == 2 && file.complaint.contains("/nowhere/key"))
    }

    @Test func `a new key has 32 octets`() async throws {
        let results = [
            try await CommandRun.run("proxy", "--make-key"), try await CommandRun.run("proxy", "--make-key"),
        ]
        let keys = results.compactMap { $0.output.first.flatMap { Data(base64Encoded: $0) } }
        #expect(keys.map(\.count) == [32, 32] && keys[0] != keys[1])
    }

    @Test func `a port that is taken is an error with a remedy`() async throws {
        let first = try CommandRun(["proxy", "--listen", "127.0.0.1:0", "--json"])
        let endpoint = try #require(object(await first.line())["endpoint"] as? String)
        let second = try await CommandRun.run("proxy", "--listen", endpoint)
        #expect(second.status == 1 && second.complaint.contains("in use") && second.complaint.contains("--listen"))
        first.signal(SIGINT)
        #expect(try await first.end().status == 130)
        let nonsense = try await CommandRun.run("proxy", "--listen", "port")
        #expect(nonsense.status == 2 && nonsense.complaint.contains("HOST:PORT"))
    }
}

/// A client that uses no key, over a socket that waits on a thread of its own.
private final class PlainClient: Sendable {
    private let descriptor: Int32

    init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failure = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard failure == 0 else { throw POSIXError(.init(rawValue: errno) ?? .ECONNREFUSED) }
    }

    deinit { close(descriptor) }

    func send(_ text: String) async throws {
        let digits = text.compactMap(\.hexDigitValue)
        let octets = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        guard write(descriptor, octets, octets.count) == octets.count else { throw POSIXError(.EPIPE) }
    }

    /// The types of the messages that come, up to one of this type.
    func types(until last: UInt64) async throws -> [UInt64] {
        try await onThread { [self] in
            var types: [UInt64] = []
            while types.last != last {
                guard try octet() == 0 else { throw POSIXError(.EPROTO) }
                let (length, type) = (try number(), try number())
                for _ in 0..<length { _ = try octet() }
                types.append(type)
            }
            return types
        }
    }

    /// Whether the other side has closed the connection, once it has.
    func hasLeft() async throws -> Bool {
        try await onThread { [self] in
            var octet: UInt8 = 0
            return read(descriptor, &octet, 1) == 0
        }
    }

    private func octet() throws -> UInt8 {
        var octet: UInt8 = 0
        guard read(descriptor, &octet, 1) == 1 else { throw POSIXError(.EPIPE) }
        return octet
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
