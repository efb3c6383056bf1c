import Foundation
import Testing

@testable import ble

/// `ble proxy` as a program on the network meets it; the kernel lab has it meet Home Assistant's own client.
@Suite(.timeLimit(.minutes(10))) struct ProxyTests {
    @Test(
        arguments: [
            (nil, "*:6053"), ("127.0.0.1", "127.0.0.1:6053"), ("shed.local", "shed.local:6053"), ("::1", "[::1]:6053"),
        ] as [(String?, String)]
    )
    func `where it listens is told as --listen takes it`(_ host: String?, _ endpoint: String) {
        #expect(TCPListener.endpoint(host, 6053) == endpoint)
    }

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

    @Test func `a key is made where there is no adapter`() async throws {
        let made = try await CommandRun.run("proxy", "--make-key", "--adapter", "hci99", "--json", simulated: false)
        #expect(made.status == 0 && made.errors.isEmpty, "\(made.complaint)")
        let key = try #require(object(made.output.first)["key"] as? String)
        #expect(Data(base64Encoded: key)?.count == 32)
    }

    /// A connection has two descriptors: it can lack both, or the second one.
    @Test(arguments: [2, 3])
    func `one that there is no descriptor left for is turned away, and the others are served`(room: Int) async throws {
        let run = try CommandRun(["proxy", "--listen", "127.0.0.1:0", "--json"])
        let endpoint = try #require(object(await run.line())["endpoint"] as? String)
        let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
        let (hello, ping, leave) = ("00 00 01", "00 00 07", "00 00 05")
        // What it opens when it first counts time is open then.
        let scanning = try PlainClient(port: port)
        try await scanning.send(hello + "00 02 42 0801")
        _ = try await scanning.types(until: 93)
        try await scanning.send(leave)
        #expect(try await scanning.types(until: 6).last == 6)
        #expect(try await scanning.hasLeft())
        var clients: [PlainClient] = []
        func come() async throws {
            let client = try PlainClient(port: port)
            try await client.send(hello)
            #expect(try await client.types(until: 2) == [2])
            clients.append(client)
        }
        try await come()
        try run.limitDescriptors(toMore: room)
        await #expect(throws: (any Error).self) { for _ in 0..<8 { try await come() } }
        #expect(!clients.isEmpty && clients.count < 8)
        for _ in 0..<2 { await #expect(throws: (any Error).self) { try await come() } }
        for client in clients {
            try await client.send(ping)
            #expect(try await client.types(until: 8) == [8])
        }
        let last = clients.removeLast()
        try await last.send(leave)
        _ = try await last.types(until: 6)
        #expect(try await last.hasLeft())
        await #expect(throws: Never.self, "there is room again") { try await come() }
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130)
        // Once, however many were turned away.
        #expect(end.errors.filter { $0.contains("ulimit -n") }.count == 1, "\(end.complaint)")
    }

    @Test func `one that no descriptor is left for at all waits for it, and the others are served`() async throws {
        let run = try CommandRun(["proxy", "--listen", "127.0.0.1:0", "--json"])
        let endpoint = try #require(object(await run.line())["endpoint"] as? String)
        let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
        let first = try PlainClient(port: port)
        try await first.send("00 00 01")
        #expect(try await first.types(until: 2) == [2])
        try run.limitDescriptors(to: 3)
        let second = try PlainClient(port: port)
        try await second.send("00 00 01")
        #expect(await run.complaint(with: "ulimit -n"))
        for _ in 0..<3 {
            try await first.send("00 00 07")
            #expect(try await first.types(until: 8) == [8])
        }
        try run.limitDescriptors(to: 1024)
        #expect(try await second.types(until: 2) == [2])
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
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
