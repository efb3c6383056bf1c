import BLEStreams
import Foundation
import Glibc
import Testing

@testable import BLEStreamsTests
@testable import ble

/// What is lost between the controller and the command is counted, once.
@Suite(.timeLimit(.minutes(10))) struct KernelLossTests {
    /// What comes out of a descriptor that is to be written to, and closed.
    private static func lines() throws -> (reader: LineReader, writing: Int32) {
        let ends = try ends()
        return (LineReader(ends.0), ends.1)
    }

    private static func ends() throws -> (Int32, Int32) {
        BrokenPipes.areErrors
        var ends: [Int32] = [0, 0]
        let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        try #require(status == 0)
        return (ends[0], ends[1])
    }

    @Test(arguments: [[], ["--secure", "encrypted"]])
    func `notify counts what the kernel had no room for, once, and shows its place`(_ options: [String]) async throws {
        let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        let rest = try await Self.linesAfterLoss(options, on: OneLinkRadio(security: security))
        let gap = try object(rest.first)["gap"] as? [String: Any]
        #expect(rest.count == 3 && gap?["dropped"] as? Int == 7, "\(rest)")
        #expect(rest.last == #"{"received":2,"dropped":7}"#, "\(rest)")
    }

    @Test func `notify counts it on links that are made again and again, too`() async throws {
        let rest = try await Self.linesAfterLoss(["--reconnect"], on: OneLinkRadio())
        #expect(rest.last == #"{"received":2,"dropped":7}"#, "\(rest)")
    }

    /// What `notify` prints behind the first of two values, if the kernel had no room for seven between them.
    private static func linesAfterLoss(_ options: [String], on radio: OneLinkRadio) async throws -> [String] {
        let (lines, writing) = try Self.lines()
        radio.link.subscribed([[0x1B, 3, 0, 1]])
        let words = ["\(Demo.heartRate)/random", "A001", "--count", "2"] + options
        let notify = try Notify(Arguments(parsing: words, options: Notify.options))
        try await withEnvironment(on: .radio(radio), printingTo: Output(isJSON: true, to: writing)) { environment in
            async let printing: Void = {
                defer { close(writing) }
                try await notify.run(in: environment)
            }()
            let first = await lines.next()
            radio.link.drop(7)
            radio.link.bring([[0x1B, 3, 0, 2]])
            try await printing
            #expect(try object(first)["value"] as? String == "01")
        }
        return await lines.rest()
    }

    @Test func `transfer counts what may have been chunks, and isn't known to have been`() async throws {
        let (lines, writing) = try Self.lines()
        let radio = OneLinkRadio()
        // Nobody can tell what was missing while an answer was.
        radio.link.withholdAnswers(true)
        radio.link.subscribed([[0x1B, 3, 0, 0x48, 0x69], [0x1B, 3, 0] + Array("EOM".utf8)])
        let words = ["\(Demo.heartRate)/random", "A001"]
        let transfer = try Transfer(Arguments(parsing: words, options: Transfer.options))
        try await withEnvironment(on: .radio(radio), printingTo: Output(isJSON: true, to: writing)) { environment in
            async let receiving: Void = {
                defer { close(writing) }
                try await transfer.run(in: environment)
            }()
            while radio.link.sent.isEmpty { await Task.yield() }
            radio.link.drop(7)
            radio.link.withholdAnswers(false)
            try await receiving
            let printed = await lines.rest()
            #expect(try object(printed.first)["text"] as? String == "Hi")
            #expect(printed.last == #"{"received":2,"dropped":7}"#, "\(printed)")
        }
    }

    @Test(
        arguments: [
            ([3], "7 values of 0x0003 were dropped"), ([3, 6], "7 values of unknown characteristics were dropped"),
        ] as [([UInt16], String)]
    )
    func `a proxy tells what its client has missed, once`(_ handles: [UInt16], _ loss: String) async throws {
        let (lines, writing) = try Self.lines()
        let ends = try Self.ends()
        let radio = OneLinkRadio()
        try await Central.with(.radio(radio)) { central in
            let host = ProxyHost(
                central: central,
                identity: ProxyIdentity(name: "bench", address: ProxyBench.device, isEncrypted: false),
                encryption: nil,
                slots: ProxySlots(limit: 1),
                log: Log(isVerbose: false, to: writing)
            )
            let client = PlainClient(ends.1)
            async let serving: Void = {
                defer { close(writing) }
                try await ProxyClient(host, #require(TCPConnection(ends.0)), number: 1).run()
            }()
            try client.connect()
            #expect(try await client.connection() == .there)
            for handle in handles { try await client.subscribe(handle) }
            radio.link.drop(7)
            radio.link.bring([[0x1B, 3, 0, 9]])
            #expect(try await client.message(79).octets(3) == [9])
            try client.disconnect()
            #expect(try await client.connection() == .none(error: 0x16))
            client.leave()
            try await serving
            let said = await lines.rest()
            #expect(said.count == 1 && said.first?.hasSuffix(": \(loss)") == true, "\(said)")
        }
    }
}
