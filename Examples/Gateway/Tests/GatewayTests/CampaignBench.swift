import BLEDevices
import BLESimulator
import BLEStreams
import Campaigns
import Foundation
import Leases
import MQTT
import Spool
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// A driver of campaigns that holds one device, in virtual time: a test says what comes from the broker, and the broker
/// hands out what the driver publishes.
final class CampaignBench: Sendable {
    /// What the device runs at first.
    static let old = TestImage.octets(1, size: 2000)

    let time: VirtualTime
    let driver: CampaignDriver
    let device = MCUmgrFirmwareReceiver(running: CampaignBench.old)
    let id: PeripheralID
    private let lease: Lease
    private let isRefusing = Mutex(false)

    private init(_ time: VirtualTime, _ address: BluetoothAddress, _ folder: String) throws {
        self.time = time
        id = PeripheralID(rawValue: address.rawValue)
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let leases = try LeaseDriver(.init(), spool: "\(folder)/spool") { Issue.record("\($0)") }
        let publisher = Publisher(spool, prefix: "p") { _ in }
        driver = CampaignDriver(.init(images: folder), leases, publisher, clock: time.clock)
        lease = try Self.hold(address, leases)
        driver.connected()
    }

    /// Runs a test body beside the device and the driver's work on it.
    static func run(_ body: @escaping @Sendable (CampaignBench) async throws -> Void) async throws {
        let folder = try temporaryFolder("campaigns")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let bench = try CampaignBench(time, far.address, folder)
            try await withChildren([Child { try await bench.serve(far) }]) {
                let central = try await Central.open(.radio(near))
                try await central.withSession(Session.Plan(far.address)) { session in
                    let work = Child { await bench.driver.work(bench.lease, session) }
                    let search = Child { await bench.driver.lookAgain() }
                    try await withChildren([work, search]) { try await body(bench) }
                }
            }
        }
    }

    private func serve(_ adapter: SimulatedAdapter) async throws {
        let device = device
        let peripheral = LocalPeripheral(name: "device", advertising: [SharedWorld.service]) { device.service }
        try await peripheral.run(on: .radio(adapter)) { server in try await device.run(on: server) }
    }

    /// Lets the gateway hold a device, without a broker that confirms its lease.
    private static func hold(_ address: BluetoothAddress, _ leases: LeaseDriver) throws -> Lease {
        let id = PeripheralID(rawValue: address.rawValue)
        var rules = LeaseRules()
        (rules.waitsForEcho, rules.listens, rules.stopsUnconfirmed) = (false, false, false)
        var machine = LeaseMachine(gateway: leases.gateway, stored: 1000, seed: 1, rules: rules)
        let inputs: [LeaseInput] = [
            .connected(SessionID(rawValue: 1)), .heard(id, strength: -60), .stored(2000), .subscribed(id),
            .timer(.peripheral(id)),
        ]
        var epoch: Epoch?
        for (second, input) in inputs.enumerated() {
            let effects = machine.handle(input, at: Milliseconds(second) * 1000)
            epoch = effects.acquire.last?.epoch ?? epoch
        }
        let (acting, held) = (machine, try #require(epoch))
        leases.state.withLock { state in
            state.machine = acting
            state.held[id] = held
        }
        let peripheral = Configuration.Peripheral(label: "device", address: "\(address)")
        return Lease(driver: leases, tenure: Tenure(peripheral: peripheral, address: address))
    }

    // MARK: - The broker

    /// An operator publishes the plan of a campaign.
    ///
    /// - Parameter hasImage: whether the image is in the folder.
    func plan(_ name: String, _ image: [UInt8], hasImage: Bool = true, isStopped: Bool = false) throws {
        let hash = try FirmwareImage(image).sha256.hex
        if hasImage { try place(image) }
        let plan = CampaignPlan(image: hash, devices: [id], attempts: 10, isStopped: isStopped)
        receive("\(name)/plan", Array(try JSONEncoder().encode(plan)))
    }

    /// An operator copies an image to the folder.
    func place(_ image: [UInt8]) throws { _ = try TestImage.place(image, in: driver.settings.images) }

    /// The file of an image loses its content.
    func empty(_ image: [UInt8]) throws {
        let hash = try FirmwareImage(image).sha256.hex
        try Data().write(to: URL(fileURLWithPath: "\(driver.settings.images)/\(hash).bin"))
    }

    /// An operator removes the plan of a campaign.
    func remove(_ name: String) { receive("\(name)/plan", []) }

    /// All that the broker retains about a campaign has come.
    ///
    /// - Parameter failures: how many attempts of another gateway have failed; 0: none has begun.
    func synchronize(_ name: String, failures: Int = 0) throws {
        if failures > 0 {
            let epoch = Epoch(number: 1, gateway: GatewayID(rawValue: 7))
            let record = CampaignRecord(epoch: epoch, revision: 1, stage: .updating, failures: failures)
            receive("\(name)/devices/\(id)", Array(try JSONEncoder().encode(record)))
        }
        driver.subscribed(to: "blestreams/campaigns/\(name)/devices/+")
        handOut()
    }

    private func receive(_ topic: String, _ payload: [UInt8]) {
        driver.received(MQTTMessage("blestreams/campaigns/\(topic)", payload))
    }

    private func handOut() {
        while let item = driver.next() {
            guard isRefusing.withLock({ $0 }), item.message.topic.contains("/devices/") else {
                driver.received(item.message)
                continue
            }
            let error = MQTTError(
                code: .rejected(reason: 0x87),
                operation: "publish",
                object: item.message.topic,
                cause: "Not authorized",
                remedy: "Check what the broker allows this client."
            )
            driver.refused(item.token, error)
        }
    }

    /// Lets the broker refuse the records of devices from now on, or take them.
    func refuseRecords(_ isWanted: Bool) { isRefusing.withLock { $0 = isWanted } }

    /// What the driver has subscribed to, and unsubscribed from, since this was last asked.
    func changes() -> [MQTTSubscriptionChange] {
        var changes: [MQTTSubscriptionChange] = []
        while let change = driver.nextChange() { changes.append(change) }
        return changes
    }

    /// Lets time pass, in which the broker hands out what is published.
    func pass(seconds: Int) async throws {
        for _ in 0..<seconds {
            try await time.sleep(for: .seconds(1))
            handOut()
        }
    }

    /// The record of the device, as the driver knows it.
    func record(_ name: String) -> CampaignRecord? {
        driver.state.withLock { [id] in $0.campaigns[name]?.machine.record(of: id) }
    }
}
