import Foundation
import MQTT
import Spool
import TestBroker
import Testing

@testable import Gateway

/// Updates of an earlier run of the gateway, as the broker retains them.
@Suite struct FormerUpdatesTests {
    @Test(arguments: ["done", "failed", "upload"])
    func `what was said of an update goes with its peripheral, whichever run of the gateway said it`(
        phase: String
    ) throws {
        let folder = try temporaryFolder("former")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let (publisher, outbox) = (Publisher(spool, prefix: "p") { _ in }, Outbox(spool, prefix: "p") { _ in })
        publisher.use(outbox)
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.peripherals = [.init(label: "lock", name: "Lock")]
        let updates = FormerUpdates(settings: Settings(configuration), publisher: publisher)
        outbox.connected()
        let text = #"{"image":"00","phase":"\#(phase)"}"#
        for label in ["lock", "other"] {
            let message = MQTTMessage("p/update/\(label)", Array(text.utf8), isRetained: true)
            #expect(updates.take(message))
        }
        var said: [String] = []
        while let item = outbox.next() {
            said.append(String(decoding: item.message.payload, as: UTF8.self))
            outbox.acknowledged(item.token)
        }
        // One that has ended isn't said again.
        #expect(said == (phase == "upload" ? [#"{"image":"00","phase":"failed"}"#] : []))
        for label in ["lock", "other"] { publisher.remove("update/\(label)") }
        #expect(outbox.next()?.message == MQTTMessage("p/update/lock", [], isRetained: true))
        #expect(outbox.next() == nil)
    }
}
