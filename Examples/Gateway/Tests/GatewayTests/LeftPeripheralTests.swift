import BLESimulator
import BLEStreams
import Foundation
import MQTT
import TestBroker
import Testing

@testable import Gateway

/// A peripheral that leaves the configuration while a command for it is carried out.
@Suite(.timeLimit(.minutes(5))) struct LeftPeripheralTests {
    @Test func `an update that its leaving ends says nothing about it that stays at the broker`() async throws {
        let folder = try temporaryFolder("left")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await check(Settings(configuration(folder)), folder)
    }

    @Test func `nor does one that ends late, when the gateway begins again without the peripheral`() async throws {
        let folder = try temporaryFolder("left")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let next = configuration(folder)
        var present = next
        present.peripherals = [.init(label: "lock", name: "Lock")]
        let settings = Settings(present)
        settings.end(before: next)
        try await check(settings, folder)
    }

    @Test func `an update is told that the gateway stops, also while its session is still there`() async throws {
        let folder = try temporaryFolder("left")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try PublisherBench(in: folder)
        try await update(Settings(configuration(folder)), folder, bench)
        let reply = bench.said("replies").last ?? ""
        #expect(reply.contains(#""code":"ended""#) && reply.contains("it is stopping"), "\(reply)")
    }

    private func check(_ settings: Settings, _ folder: String) async throws {
        let bench = try PublisherBench(in: folder)
        try await update(settings, folder, bench)
        let news = bench.said("p/update/lock")
        #expect(news.count == 2 && news.last == "", "it failed, and was removed")
    }

    /// Sends the command to update a peripheral whose session has ended, and is not removed yet.
    private func update(_ settings: Settings, _ folder: String, _ bench: PublisherBench) async throws {
        let hash = try TestImage.place(TestImage.octets(1, size: 2000), in: folder)
        let command = #"{"peripheral":"lock","op":"update","image":"\#(hash)"}"#
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()))
            let session = central.session(Session.Plan(finding: .name("Lock")))
            let sessions = Sessions()
            sessions.add("lock", session, nil)
            session.stop()
            let (messages, inbox) = AsyncStream<MQTTMessage>.makeStream()
            var message = MQTTMessage("p/command", Array(command.utf8))
            message.responseTopic = "replies"
            inbox.yield(message)
            inbox.finish()
            let commands = Commands(settings: settings, sessions: sessions, publisher: bench.publisher)
            await commands.take(messages)
            commands.end()
            await commands.run()
        }
    }

    /// One without the peripheral. It still permits the command, which was looked at before.
    private func configuration(_ folder: String) -> Configuration {
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.permissions = [.init(peripheral: "lock", operations: ["update"], characteristics: [])]
        configuration.images = folder
        return configuration
    }
}
