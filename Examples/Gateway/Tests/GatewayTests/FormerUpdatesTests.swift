import Foundation
import MQTT
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
        let bench = try PublisherBench(in: folder)
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.peripherals = [.init(label: "lock", name: "Lock")]
        let updates = FormerUpdates(settings: Settings(configuration), publisher: bench.publisher)
        let text = #"{"image":"00","phase":"\#(phase)"}"#
        for label in ["lock", "other"] {
            let message = MQTTMessage("p/update/\(label)", Array(text.utf8), isRetained: true)
            #expect(updates.take(message))
        }
        var said: [String] = []
        while let item = bench.outbox.next() {
            said.append(String(decoding: item.message.payload, as: UTF8.self))
            bench.outbox.acknowledged(item.token)
        }
        // One that has ended isn't said again.
        #expect(said == (phase == "upload" ? [#"{"image":"00","phase":"failed"}"#] : []))
        for label in ["lock", "other"] { bench.publisher.remove("update/\(label)") }
        #expect(bench.outbox.next()?.message == MQTTMessage("p/update/lock", [], isRetained: true))
        #expect(bench.outbox.next() == nil)
    }
}
