import Foundation
import MQTT
import TestBroker
import Testing

@testable import Gateway

/// Commands that come when the gateway begins no more of them, and still has its connection to the broker.
@Suite(.timeLimit(.minutes(5))) struct LateCommandsTests {
    @Test func `each is told that the gateway ends, and none waits for another`() async throws {
        let folder = try temporaryFolder("late")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.permissions = [.init(peripheral: "lock", operations: ["connect"], characteristics: [])]
        let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
        for id in 1...3 {
            let command = #"{"id":\#(id),"peripheral":"lock","op":"connect"}"#
            var message = MQTTMessage("p/command", Array(command.utf8))
            message.responseTopic = "replies"
            inbox.yield(message)
        }
        inbox.finish()
        let commands = Commands(settings: Settings(configuration), sessions: Sessions(), publisher: bench.publisher)
        commands.end()
        await commands.take(messages)
        var replies: [String] = []
        while let message = bench.outbox.next()?.message {
            replies.append(String(decoding: message.payload, as: UTF8.self))
        }
        #expect(replies.count == 3 && replies.allSatisfy { $0.contains(#""code":"ended""#) }, "\(replies)")
    }
}
