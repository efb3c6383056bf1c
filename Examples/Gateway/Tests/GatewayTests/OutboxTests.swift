import Foundation
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite("An outbox")
struct OutboxTests {
    private let error = MQTTError(
        code: .rejected(reason: 0x87),
        operation: "publish",
        object: "x",
        cause: "not authorised",
        remedy: "Ask the administrator."
    )

    private func outbox() throws -> (Outbox, Spool) {
        let spool = try Spool(SpoolSettings(folder: try temporaryFolder("spool")))
        return (Outbox(spool, prefix: "p") { _ in }, spool)
    }

    private func text(_ item: MQTTOutgoing?) -> String { String(decoding: item?.message.payload ?? [], as: UTF8.self) }

    @Test("sends states again on each connection, the newest of each, and replies on none but theirs")
    func retained() throws {
        let (outbox, _) = try outbox()
        outbox.reply(.json("reply", [1]))
        outbox.retain(.json("state", [1], isRetained: true))
        outbox.retain(.json("state", [2], isRetained: true))
        for _ in 0..<2 {
            outbox.connected()
            outbox.reply(.json("reply", [3]))
            #expect(outbox.next()?.message == .json("state", [2], isRetained: true))
            outbox.interrupted()
        }
        outbox.connected()
        #expect(outbox.next()?.message.topic == "state")
        #expect(outbox.next() == nil)
        #expect(outbox.counts.dropped == 1)
    }

    @Test("has room for the states of the largest configuration and for what Home Assistant needs, beside the replies")
    func largest() throws {
        let (outbox, _) = try outbox()
        let topics = (0..<1000).map { "state/\($0)" } + (0..<2000).map { "config/\($0)" }
        for topic in topics { outbox.retain(.json(topic, [1], isRetained: true)) }
        outbox.connected()
        outbox.reply(.json("reply", [3]))
        for topic in topics + topics { outbox.retain(.json(topic, [2], isRetained: true)) }
        var sent: [String: [UInt8]] = [:]
        while let item = outbox.next() { sent[item.message.topic] = item.message.payload }
        #expect(sent["reply"] == [3])
        #expect(topics.allSatisfy { sent[$0] == [2] })
        #expect(outbox.counts.dropped == 0)
    }

    @Test("removes a state at the broker, and says so again until the broker has it")
    func removal() throws {
        let (outbox, _) = try outbox()
        outbox.remove("state")
        outbox.retain(.json("state", [1], isRetained: true))
        outbox.remove("state")
        for _ in 0..<2 {
            outbox.connected()
            #expect(outbox.next()?.message == MQTTMessage("state", [], isRetained: true))
            #expect(outbox.next() == nil)
            outbox.interrupted()
        }
        outbox.connected()
        outbox.acknowledged(try #require(outbox.next()).token)
        outbox.interrupted()
        outbox.connected()
        #expect(outbox.next() == nil)
    }

    @Test("removes a state that came back before the broker had its removal, also over another connection")
    func laterRemoval() throws {
        let (outbox, _) = try outbox()
        outbox.retain(.json("state", [1], isRetained: true))
        outbox.connected()
        #expect(outbox.next()?.message.payload == [1])
        outbox.remove("state")
        let removal = try #require(outbox.next())
        outbox.retain(.json("state", [2], isRetained: true))
        outbox.remove("state")
        #expect(outbox.next()?.message.payload == [2])
        outbox.acknowledged(removal.token)
        // The broker has the second state.
        outbox.interrupted()
        outbox.connected()
        let later = try #require(outbox.next())
        #expect(later.message == MQTTMessage("state", [], isRetained: true))
        outbox.acknowledged(later.token)
        outbox.interrupted()
        outbox.connected()
        #expect(outbox.next() == nil)
    }

    @Test("sends a state again that the broker has refused, and a removal, until the broker has it")
    func refusedStates() throws {
        let (outbox, _) = try outbox()
        outbox.connected()
        outbox.retain(.json(error.object, [1], isRetained: true))
        let first = try #require(outbox.next())
        outbox.refused(first.token, error)
        #expect(outbox.next() == nil)
        outbox.repeatRefused()
        let second = try #require(outbox.next())
        #expect(second.message == first.message)
        outbox.acknowledged(second.token)
        outbox.remove(error.object)
        let removal = try #require(outbox.next())
        outbox.refused(removal.token, error)
        outbox.repeatRefused()
        let again = try #require(outbox.next())
        #expect(again.message == MQTTMessage(error.object, [], isRetained: true))
        outbox.acknowledged(again.token)
        outbox.repeatRefused()
        #expect(outbox.next() == nil)
        #expect(!outbox.hasState(error.object))
    }

    @Test("marks what is from before the connection, and what was sent before")
    func marks() throws {
        let (outbox, spool) = try outbox()
        let entry = Entry(topic: "p/value", members: .object(("n", .number(1))))
        try spool.append(entry.encoded)
        outbox.connected()
        try spool.append(entry.encoded)
        #expect(text(outbox.next()) == #"{"n":1,"sequence":1,"epoch":1,"history":true}"#)
        #expect(text(outbox.next()) == #"{"n":1,"sequence":2,"epoch":1}"#)
        outbox.interrupted()
        outbox.connected()
        #expect(text(outbox.next()) == #"{"n":1,"sequence":1,"epoch":1,"redelivered":true,"history":true}"#)
    }

    @Test("gives up a record that the broker refuses, and publishes that it is lost")
    func refusal() throws {
        let (outbox, spool) = try outbox()
        try spool.append(Entry(topic: "p/value", members: .object([])).encoded)
        outbox.connected()
        let item = try #require(outbox.next())
        outbox.refused(item.token, error)
        #expect(spool.counts.dropped == 1)
        let loss = try #require(outbox.next())
        #expect(loss.message.topic == "p/lost")
        #expect(text(loss) == #"{"first":1,"last":1,"count":1}"#)
        // Until it is acknowledged, it is told again on each connection, and only once on each.
        #expect(outbox.next() == nil)
        outbox.interrupted()
        outbox.connected()
        let again = try #require(outbox.next())
        #expect(text(again) == text(loss))
        outbox.acknowledged(again.token)
        #expect(spool.loss == nil)
        #expect(outbox.next() == nil)
    }

    @Test("drops a record that is none, rather than stop at it")
    func damaged() throws {
        let (outbox, spool) = try outbox()
        for octets in [[], [0], [0xFF, 0xFF, 1, 2], Array("abc".utf8)] { try spool.append(octets) }
        try spool.append(Entry(topic: "p/value", members: .object([])).encoded)
        outbox.connected()
        #expect(text(outbox.next()) == #"{"sequence":5,"epoch":1,"history":true}"#)
    }

    @Test("says once why it can't read, and goes on when it can")
    func unreadable() throws {
        let folder = try temporaryFolder("spool")
        let reports = Mutex<[String]>([])
        let spool = try Spool(SpoolSettings(folder: folder))
        let outbox = Outbox(spool, prefix: "p") { line in reports.withLock { $0.append(line) } }
        try spool.append(Entry(topic: "p/value", members: .object([])).encoded)
        outbox.connected()
        let (segment, files) = ("\(folder)/00000000000000000001.segment", FileManager.default)
        try files.moveItem(atPath: segment, toPath: "\(folder)/elsewhere")
        try files.createSymbolicLink(atPath: segment, withDestinationPath: segment)
        for _ in 0..<3 { #expect(outbox.next() == nil) }
        #expect(reports.withLock { $0.count } == 1)
        try files.removeItem(atPath: segment)
        try files.moveItem(atPath: "\(folder)/elsewhere", toPath: segment)
        #expect(outbox.next()?.message.topic == "p/value")
    }
}
