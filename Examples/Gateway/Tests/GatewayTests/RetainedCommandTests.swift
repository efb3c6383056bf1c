import Foundation
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// A command that the broker keeps, and gives the gateway on each connection.
@Suite(.timeLimit(.minutes(5))) struct RetainedCommandTests {
    @Test func `a person is told of it once, with how to remove it`() async throws {
        let folder = try temporaryFolder("retained")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let reports = Mutex<[String]>([])
        let publisher = Publisher(try Spool(SpoolSettings(folder: "\(folder)/spool")), prefix: "home/kitchen") { line in
            reports.withLock { $0.append(line) }
        }
        let settings = Settings(Configuration(spool: .init(folder: "\(folder)/spool")))
        let commands = Commands(settings: settings, sessions: Sessions(), publisher: publisher)
        for _ in 1...3 {
            let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
            let command = #"{"id":1,"peripheral":"lock","op":"connect"}"#
            inbox.yield(MQTTMessage("home/kitchen/command", Array(command.utf8), isRetained: true))
            inbox.finish()
            await commands.take(messages)
        }
        let told = reports.withLock { $0 }
        #expect(told.count == 1, "\(told)")
        #expect(told.first?.contains("mosquitto_pub -V 5 -r -n -t 'home/kitchen/command'") == true, "\(told)")
    }
}
