import Foundation
import MQTT
import TestBroker
import Testing

@testable import Gateway

/// A command for a peripheral without a session: another gateway has it, or the adapter is off.
@Suite(.timeLimit(.minutes(5))) struct UnfollowedPeripheralTests {
    @Test(arguments: [true, false]) func `a command says to whom, or when, to send it again`(isSharing: Bool)
        async throws
    {
        let folder = try temporaryFolder("unfollowed")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.permissions = [.init(peripheral: "lock", operations: ["connect"], characteristics: [])]
        configuration.leases = isSharing ? Configuration.Sharing() : nil
        let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
        var message = MQTTMessage("p/command", Array(#"{"peripheral":"lock","op":"connect"}"#.utf8))
        message.responseTopic = "replies"
        inbox.yield(message)
        inbox.finish()
        let commands = Commands(settings: Settings(configuration), sessions: Sessions(), publisher: bench.publisher)
        await commands.take(messages)
        commands.end()
        await commands.run()
        let reply = String(decoding: bench.outbox.next()?.message.payload ?? [], as: UTF8.self)
        let words =
            isSharing
            ? "Send the command to the gateway whose state/lock says that the peripheral is ready."
            : "Send the command again when p/state/lock says that the peripheral is ready."
        #expect(reply.contains(#""code":"notFound""#) && reply.contains(words), "\(reply)")
    }
}
