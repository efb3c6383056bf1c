import BLEProtocol
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// What is stored of a central's subscriptions, from one bond to the next.
@Suite struct ServedRecordTests {
    private static let central = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0x0102_0304_0506, kind: .public)
    private static var served: ServedRecord {
        ServedRecord(
            databaseHash: Data(repeating: 7, count: 16),
            configurations: [ServedRecord.Configuration(valueHandle: 8, value: 2)],
            features: 1
        )
    }

    /// A store with a bond, and with what its central has configured.
    private static func store() -> PeerStore {
        let store = PeerStore.inMemory()
        store.remember(.planted(1, with: central))
        store.update(central) { $0.served = served }
        return store
    }

    @Test func `a central that pairs anew for other keys keeps its subscriptions`() {
        let store = Self.store()
        store.remember(.planted(2, with: Self.central))
        #expect(store.record(of: Self.central).served == Self.served)
    }

    @Test func `a record of an older file goes on for each adapter with a bond until that one stores its own`() {
        let (first, second) = (Bond.planted(1, with: Self.central), Bond(peer: Self.central, adapter: Self.other))
        var record = PeerRecord()
        record.served = Self.served
        record.bonds = [BondRecord(first), BondRecord(second)]
        #expect(record.served(at: first.adapter) == Self.served && record.served(at: Self.other) == Self.served)
        var own = Self.served
        own.adapter = first.adapter.descriptionWithKind
        own.configurations = []
        record.setServed(own, at: first.adapter)
        #expect(record.served(at: first.adapter) == own)
        #expect(record.served(at: Self.other)?.configurations == Self.served.configurations)
        // Nothing was configured at an adapter without a bond, and nothing comes back where all was switched off.
        #expect(record.served(at: Self.central) == nil)
        record.setServed(nil, at: Self.other)
        #expect(record.served(at: Self.other) == nil && record.allServed == [own])
    }

    @Test func `what finds no room is there on the central's next link, and is written once there is room`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: Self.central))
            try child.fillDisk()
            let store = PeerStore(folder: child.folder) { _ in }
            let client = ServerClient(configurations: [8: 2])
            _ = ServedCentrals(store: store).keep(
                client,
                of: Self.central,
                at: nil,
                isBonded: true,
                hadStored: (bond: true, state: false),
                AttributeDatabase(services: [])
            )
            await store.flush()
            #expect(store.failure(of: Self.central) != nil)
            #expect(store.record(of: Self.central).served?.configurations == Self.served.configurations)
            try child.freeDisk()
            await store.flush()
            let written = PeerStore(folder: child.folder).record(of: Self.central)
            #expect(written.served?.configurations == Self.served.configurations)
            #expect(written.bonds(with: Self.central) == [.planted(1, with: Self.central)])
        }
    }

    @Test func `they end with the bond, so that nobody without one is served with them`() {
        let store = Self.store()
        store.forgetBonds(with: Self.central)
        let read = Recorder<Bool>()
        ServedCentrals(store: store).read(Self.central, on: PatientTimeline()) { kept in
            read.add(kept.isBonded || kept.record != nil)
        }
        #expect(read.all == [false] && store.record(of: Self.central).isEmpty)
    }

    @Test func `services that are replaced while a central is being admitted are told to it`() throws {
        let stays = [LocalService]().addingMandatoryServices(name: "Replaced", appearance: 0)
        let goes = LocalService(BluetoothUUID(0xD000)) { LocalCharacteristic(BluetoothUUID(0xD001), [.notify]) }
        var database = AttributeDatabase(services: stays + [goes])
        let changed = try #require(database.serviceChanged).valueHandle
        let value = try #require(database.valueHandle(of: "D001"))
        let record = ServedRecord(
            databaseHash: Data(database.computedHash()),
            configurations: [
                ServedRecord.Configuration(valueHandle: changed, value: 2),
                ServedRecord.Configuration(valueHandle: value, value: 1),
            ],
            features: 0
        )
        let client = ServedCentrals(store: .inMemory()).recall(record, database)
        var server = ATTServer(maximumMTU: 517, client: client)
        // On another thread: the central isn't among those that are connected yet.
        database.replaceServices(stays)
        let output = server.synchronize(with: database)
        #expect(output.subscriptionChanges.map(\.characteristic) == [value])
        let told = server.nextPDU()
        #expect(told?.first == 0x1D && server.client.subscriptions == [changed: .indicate])
    }

    @Test(.timeLimit(.minutes(10)))
    func `a link that ends behind the bond brings nothing of a forgotten central back`() async throws {
        let store = PeerStore.inMemory()
        let (before, after) = (Recorder<Bool>(), Recorder<PeerRecord>())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let central = try await Central.open(.radio(near), store: .inMemory())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: .radio(far), store: store) { server in
                        for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                            try await time.sleep(for: .seconds(5))
                            before.add(store.record(of: near.address).served != nil)
                            store.forgetBonds(with: near.address)
                            change.central.disconnect()
                        }
                    }
                }
                let error = await bleError {
                    try await central.peripheral(far.address).withLink { link in
                        try await link.pair()
                        for try await _ in link.notifications(of: Bench.notifying) {}
                    }
                }
                #expect(error?.code == .disconnected)
                try await time.sleep(for: .seconds(5))
                after.add(store.record(of: near.address))
                group.cancelAll()
            }
        }
        #expect(before.all == [true] && after.all == [PeerRecord()])
    }
}
