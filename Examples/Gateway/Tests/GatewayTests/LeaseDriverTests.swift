import BLEStreams
import Foundation
import Leases
import MQTT
import Synchronization
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "The driver of the leases",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .timeLimit(.minutes(5))
)
struct LeaseDriverTests {
    private let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    private func driver(_ folder: String) throws -> LeaseDriver {
        var settings = Configuration.Sharing()
        settings.terms = SharedWorld.terms
        // It is heard once.
        (settings.terms.silence, settings.terms.forgetting) = (120_000, 120_000)
        let driver = try LeaseDriver(settings, spool: "\(folder)/spool") { Issue.record("\($0)") }
        driver.share([.init(label: "a", address: "\(address)")])
        driver.state.withLock { $0.addresses[PeripheralID(rawValue: address.rawValue)] = address }
        return driver
    }

    /// A client for a driver that has heard the peripheral.
    private func client(of driver: LeaseDriver, on broker: Broker, _ outbox: any MQTTFollower) -> MQTTClient {
        let settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "g")
        let client = MQTTClient(driver.settings(settings), outbox: outbox)
        driver.use(client)
        driver.hear(address, -60)
        return client
    }

    /// Writes access rules for a broker: what clients may do with all topics.
    private func allow(_ access: String, in folder: String) throws {
        try "topic \(access) #\n".write(toFile: "\(folder)/acl", atomically: true, encoding: .utf8)
    }

    @Test("releases a peripheral only when its link is down")
    func parting() async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("leases"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (driver, id) = (try driver(folder), PeripheralID(rawValue: address.rawValue))
        let collector = try await Collector(on: broker, topic: "blestreams/#")
        let client = client(of: driver, on: broker, driver)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            for await _ in driver.changes where !driver.tenures.isEmpty { break }
            guard driver.begin(id) else {
                Issue.record("the lease is over already")
                return
            }
            #expect(driver.members(id) != nil)
            driver.stop()
            #expect(driver.members(id) == nil, "nothing may be published any more")
            #expect(!driver.begin(id))
            // Two pulses, sent after the machine's release, arrive before it: the link is not down.
            var pulses = 0
            while pulses < 2, let message = await collector.next() {
                if message.topic.hasSuffix("/pulse"), driver.counts.lost == 1 { pulses += 1 }
                #expect(!message.payload.contains(#""release""#))
            }
            driver.end(id)
            while let message = await collector.next(), !message.payload.contains(#""release""#) {}
        }
    }

    @Test("says that nothing comes back from a broker that doesn't let it read")
    func unread() async throws {
        let folder = try temporaryFolder("leases")
        try allow("write", in: folder)
        let broker = try await Broker("allow_anonymous true\nacl_file \(folder)/acl", in: folder)
        var terms = Configuration.Sharing()
        (terms.terms.confirmation, terms.terms.pulse, terms.terms.parting) = (200, 20, 0)
        let (reports, told) = AsyncStream<String>.makeStream()
        let driver = try LeaseDriver(terms, spool: "\(folder)/spool") { told.yield($0) }
        let client = client(of: driver, on: broker, driver)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            let report = await reports.first { _ in true }
            #expect(report?.contains(driver.topics.pulse(of: driver.gateway)) == true)
            #expect(report?.contains("read") == true, "\(report ?? "")")
        }
    }

    @Test("holds a peripheral when the broker lets it read again, though its claim was kept from it")
    func readAgain() async throws {
        let folder = try temporaryFolder("leases")
        try allow("write", in: folder)
        let broker = try await Broker("allow_anonymous true\nacl_file \(folder)/acl", in: folder)
        var sharing = Configuration.Sharing()
        (sharing.terms.confirmation, sharing.terms.pulse, sharing.terms.parting) = (1000, 100, 0)
        (sharing.terms.lease, sharing.terms.renewal, sharing.terms.courtesy) = (5000, 2000, 500)
        let driver = try LeaseDriver(sharing, spool: "\(folder)/spool") { _ in }
        driver.share([.init(label: "a", address: "\(address)")])
        driver.state.withLock { $0.addresses[PeripheralID(rawValue: address.rawValue)] = address }
        let follower = TellingFollower(driver)
        let client = client(of: driver, on: broker, follower)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            // The broker has the claim, and so does whoever may read it.
            for await message in follower.taken where message.topic.contains("/leases/") { break }
            #expect(driver.tenures.isEmpty)
            try allow("readwrite", in: folder)
            broker.reload()
            for await _ in driver.changes where !driver.tenures.isEmpty { break }
            #expect(client.counts.connections == 2)
        }
    }

    @Test("keeps its identifier and its reservation beside the spool, and draws another identifier without them")
    func store() throws {
        let folder = try temporaryFolder("leases")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = try EpochStore(beside: "\(folder)/spool", configured: nil)
        #expect(first.reserved == 0)
        try first.store(1024)
        let second = try EpochStore(beside: "\(folder)/spool", configured: nil)
        #expect(second.gateway == first.gateway && second.reserved == 1024)
        let named = try EpochStore(beside: "\(folder)/spool", configured: GatewayID(rawValue: 7))
        #expect(named.gateway == GatewayID(rawValue: 7) && named.reserved == 1024)
        try FileManager.default.removeItem(atPath: "\(folder)/spool.leases")
        let third = try EpochStore(beside: "\(folder)/spool", configured: nil)
        #expect(third.gateway != first.gateway && third.reserved == 0)
        try "{}".write(toFile: "\(folder)/spool.leases", atomically: true, encoding: .utf8)
        #expect(throws: EpochStore.StoreError.self) { try EpochStore(beside: "\(folder)/spool", configured: nil) }
    }
}

/// A driver that also tells what the broker has taken.
private final class TellingFollower: MQTTFollower {
    let taken: AsyncStream<MQTTMessage>
    private let tell: AsyncStream<MQTTMessage>.Continuation
    private let driver: LeaseDriver
    private let inFlight = Mutex<[UInt64: MQTTMessage]>([:])

    init(_ driver: LeaseDriver) {
        self.driver = driver
        (taken, tell) = AsyncStream.makeStream()
    }

    func next() -> MQTTOutgoing? {
        guard let item = driver.next() else { return nil }
        inFlight.withLock { $0[item.token] = item.message }
        return item
    }

    func acknowledged(_ token: UInt64) {
        driver.acknowledged(token)
        if let message = inFlight.withLock({ $0.removeValue(forKey: token) }) { tell.yield(message) }
    }

    func will() -> MQTTDelayedWill? { driver.will() }
    func connected() { driver.connected() }
    func nextChange() -> MQTTSubscriptionChange? { driver.nextChange() }
    func subscribed(to topic: String) { driver.subscribed(to: topic) }
    func received(_ message: MQTTMessage) { driver.received(message) }
    func refused(_ token: UInt64, _ error: MQTTError) { driver.refused(token, error) }
    func interrupted() { driver.interrupted() }
}
