import Foundation
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// A command that the broker keeps, and gives the gateway on each connection.
@Suite(.timeLimit(.minutes(5))) struct RetainedCommandTests {
    @Test(arguments: [("home/kitchen", "'home/kitchen/command'"), ("bob's room", #"'bob'\''s room/command'"#)])
    func `a person is told of it once, with how to remove it`(_ prefix: String, _ topic: String) async throws {
        let folder = try temporaryFolder("retained")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let reports = Mutex<[String]>([])
        let publisher = Publisher(try Spool(SpoolSettings(folder: "\(folder)/spool")), prefix: prefix) { line in
            reports.withLock { $0.append(line) }
        }
        let broker = Configuration.Broker(host: "broker.example", port: 8883)
        let settings = Settings(Configuration(broker: broker, spool: .init(folder: "\(folder)/spool")))
        let commands = Commands(settings: settings, sessions: Sessions(), publisher: publisher)
        for _ in 1...3 {
            let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
            let command = #"{"id":1,"peripheral":"lock","op":"connect"}"#
            inbox.yield(MQTTMessage("\(prefix)/command", Array(command.utf8), isRetained: true))
            inbox.finish()
            await commands.take(messages)
        }
        let told = reports.withLock { $0 }
        #expect(told.count == 1, "\(told)")
        let remedy = "`mosquitto_pub -V 5 -h broker.example -p 8883 -r -n -t \(topic)`"
        #expect(told.first?.contains(remedy) == true, "\(told)")
    }
}
