import Foundation
import TestBroker
import Testing

@testable import MQTT

@Suite("A client whose broker says nothing", .timeLimit(.minutes(10)))
struct SilentBrokerTests {
    @Test("gives the connection up after the timeout, with TLS and without", arguments: [false, true])
    func silence(_ isSecure: Bool) async throws {
        let (socket, port) = listeningSocket()
        defer { close(socket) }
        var settings = MQTTSettings(host: "127.0.0.1", port: port, clientID: "client")
        settings.connectTimeout = .milliseconds(200)
        // Any file of certificates does: the handshake never comes so far.
        if isSecure { settings.security = MQTTSecurity(authorities: "/etc/ssl/certs/ca-certificates.crt") }
        if isSecure, !FileManager.default.fileExists(atPath: "/etc/ssl/certs/ca-certificates.crt") { return }
        let client = MQTTClient(settings, outbox: ListOutbox())
        let error = try await disconnection(of: client)
        #expect(error.code == .timedOut)
        #expect(error.remedy.contains("TLS"))
    }
}
