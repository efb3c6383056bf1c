import Foundation
import TestBroker
import Testing

@testable import MQTT

@Suite(
    "A client with TLS",
    .enabled(if: Broker.program != nil && Certificates.program != nil, "\(Broker.skipReason)"),
    .timeLimit(.minutes(10))
)
struct SecurityTests {
    private func broker(_ certificates: Certificates) async throws -> Broker {
        try await Broker(
            """
            allow_anonymous true
            cafile \(certificates.folder)/ca.pem
            certfile \(certificates.folder)/broker.pem
            keyfile \(certificates.folder)/broker.key
            require_certificate true
            """
        )
    }

    private func settings(_ broker: Broker, _ security: MQTTSecurity?) -> MQTTSettings {
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "client")
        settings.security = security
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(100))
        return settings
    }

    @Test("proves who it is by its certificate, and carries many messages")
    func mutual() async throws {
        let certificates = try await Certificates()
        let broker = try await broker(certificates)
        let security = MQTTSecurity(
            authorities: "\(certificates.folder)/ca.pem",
            certificate: "\(certificates.folder)/client.pem",
            key: "\(certificates.folder)/client.key"
        )
        let outbox = ListOutbox((0..<500).map { MQTTMessage("n", [UInt8](repeating: UInt8($0 % 256), count: 300)) })
        var settings = settings(broker, security)
        settings.subscriptions = ["n"]
        let client = MQTTClient(settings, outbox: outbox)
        try await running(client) {
            await outbox.wait { $0.acknowledged.count == 500 }
            var count = 0
            for await _ in client.messages {
                count += 1
                if count == 200 { break }
            }
        }
        #expect(client.counts.connections == 1)
    }

    @Test("is refused without a certificate, doesn't trust a stranger, and says so", arguments: [true, false])
    func strangers(_ lacksCertificate: Bool) async throws {
        let certificates = try await Certificates()
        let broker = try await broker(certificates)
        let other = try await Certificates()
        let folder = certificates.folder
        let security =
            lacksCertificate
            ? MQTTSecurity(authorities: "\(folder)/ca.pem")
            : MQTTSecurity(
                authorities: "\(other.folder)/ca.pem",
                certificate: "\(folder)/client.pem",
                key: "\(folder)/client.key"
            )
        let client = MQTTClient(settings(broker, security), outbox: ListOutbox())
        let error = try await disconnection(of: client)
        if !lacksCertificate { #expect(error.code == .security) }
        #expect(client.counts.connections == 0)
    }

    @Test func `asks nobody for the password of a key, and says that it must have none`() async throws {
        let certificates = try await Certificates()
        let folder = certificates.folder
        try await certificates.lock("client")
        var settings = MQTTSettings(host: "127.0.0.1", port: freePort(), clientID: "client")
        settings.security = MQTTSecurity(
            authorities: "\(folder)/ca.pem",
            certificate: "\(folder)/client.pem",
            key: "\(folder)/client.key"
        )
        let error = try await disconnection(of: MQTTClient(settings, outbox: ListOutbox()))
        #expect(error.code == .security && error.remedy.contains("that the key has no password"), "\(error)")
    }

    @Test("names a file that it can't read")
    func missingFile() async throws {
        var settings = MQTTSettings(host: "127.0.0.1", port: freePort(), clientID: "client")
        settings.security = MQTTSecurity(authorities: "/nowhere/ca.pem")
        let client = MQTTClient(settings, outbox: ListOutbox())
        let error = try await disconnection(of: client)
        #expect(error.code == .security)
        #expect(error.object == "/nowhere/ca.pem")
    }
}

/// An authority, and certificates of a broker and a client, made for the test.
private final class Certificates {
    static let program = ["/usr/bin/openssl"].first { FileManager.default.isExecutableFile(atPath: $0) }

    let folder: String

    init() async throws {
        folder = try temporaryFolder("certificates")
        let request = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj"]
        try await run(request + ["/CN=authority", "-x509", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem"])
        try "subjectAltName=IP:127.0.0.1".write(toFile: "\(folder)/names", atomically: true, encoding: .utf8)
        for name in ["broker", "client"] {
            try await run(request + ["/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).request"])
            try await run([
                "x509", "-req", "-in", "\(name).request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", "names", "-out", "\(name).pem",
            ])
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Gives a key a password.
    func lock(_ name: String) async throws {
        try await run(["pkey", "-in", "\(name).key", "-aes256", "-passout", "pass:locked", "-out", "locked.key"])
        try FileManager.default.removeItem(atPath: "\(folder)/\(name).key")
        try FileManager.default.moveItem(atPath: "\(folder)/locked.key", toPath: "\(folder)/\(name).key")
    }

    private func run(_ words: [String]) async throws {
        let program = try RunningProgram(Self.program ?? "openssl", words, in: folder)
        try #require(await program.waitForEnd() == 0)
    }
}
