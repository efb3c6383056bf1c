import BLEDevices
import BLEProtocol
import FoundationEssentials

@testable import BLEStreams

extension FuzzTarget {
    /// A file of the store, as somebody may have edited or copied it: what it holds is taken or refused, and what is
    /// taken is written and read as the same.
    static let store = FuzzTarget("store", longest: 4096, seeds: StoreCheck.seeds) { octets in
        let data = Data(octets)
        _ = try? PeerFile(data, of: StoreCheck.peer)
        _ = BondFile(data)?.content
        if let file = try? JSONDecoder().decode(BondFile.self, from: data), let bonds = file.content {
            try StoreCheck.take(bonds)
        }
        // A file of bluetoothd, which is copied into the store.
        if let file = BluetoothdBonds(String(decoding: octets, as: UTF8.self)) {
            if let bond = file.bond("C4:F2:17:1A:1D:BB", "C4:F2:17:1A:1D:BC") { try StoreCheck.take([bond]) }
            try require(Mirror(reflecting: file).children.isEmpty, "keys are shown: \(file)")
        }
        // Without the checksum, which chance does not hit.
        if let record = try? JSONDecoder().decode(PeerRecord.self, from: data) { try StoreCheck.take(record) }
    }
}

private enum StoreCheck {
    static let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    static func take(_ record: PeerRecord) throws {
        let file = PeerFile(record, of: peer)
        if let octets = file.octets {
            let again = try? PeerFile(octets, of: peer)
            try require(again?.record == record, "a record is read as another one")
        }
        for bond in record.bonds ?? [] {
            guard let read = bond.bond(with: peer) else { continue }
            try require(BondRecord(read).bond(with: peer) == read, "a bond is read as another one")
            try require(Mirror(reflecting: bond).children.count == 1, "keys are shown: \(bond)")
            for key in bond.encryptionKeys { try require(Mirror(reflecting: key).children.isEmpty, "shown: \(key)") }
        }
        _ = (record.subscribed ?? []).compactMap { $0.kept }.map { SubscribedRecord($0) }
        if let services = record.services, let remembered = services.remembered {
            let again = ServicesRecord(remembered)
            try require(again.remembered == remembered, "services are read as others")
        }
        if let session = record.session { try take(session) }
    }

    static func take(_ bonds: [Bond]) throws {
        guard let octets = BondFile(bonds).octets else { throw FuzzFinding(description: "bonds are not written") }
        try require(BondFile(octets)?.content == bonds, "bonds are read as others")
        for bond in bonds { _ = (bond.level, bond.keySize, bond.isSecureConnections, bond.isAuthenticated) }
    }

    private static func take(_ session: SessionRecord) throws {
        guard let plan = session.plan(for: peer) else { return }
        for failure in [1, 2, 1000] { _ = plan.reconnecting?.delay(afterFailure: failure, random: .max) }
        let written = SessionRecord(plan, name: session.name)
        guard let again = written.plan(for: peer) else {
            throw FuzzFinding(description: "a plan is refused as it was written")
        }
        try require(again.subscriptions.count == plan.subscriptions.count, "a subscription is lost")
        try require(again.requiredServices == plan.requiredServices, "required services differ")
        try require(again.parameters == plan.parameters && again.security == plan.security, "demands differ")
    }

    static var seeds: [[UInt8]] {
        var plan = Session.Plan(peer)
        plan.subscriptions = [
            Session.Subscription(BluetoothUUID.heartRateOfSeed), Session.Subscription(.handle(7), indications: true),
        ]
        plan.requiredServices = [BluetoothUUID(0x180D)]
        plan.reconnecting = .exponential()
        plan.security = .encrypted
        plan.parameters = try? ConnectionParameters(
            interval: .milliseconds(30)...(.milliseconds(50)),
            latency: 0,
            supervisionTimeout: .seconds(2)
        )
        var record = PeerRecord()
        record.session = SessionRecord(plan, name: "sensor")
        record.ownIdentityKey = Data(repeating: 1, count: 16)
        record.bonds = [
            BondRecord(
                adapter: "C4:F2:17:1A:1D:BC/public",
                key: .init(kind: 0, initiator: 1, size: 16, diversifier: 0, random: 0, value: Data(count: 16))
            )
        ].compactMap { $0 }
        record.served = ServedRecord(
            databaseHash: Data(repeating: 1, count: 16),
            configurations: [.init(valueHandle: 3, value: 1)],
            features: 1
        )
        record.services = ServicesRecord(RememberedDatabase(database: GATTDatabase(), hash: nil, mayChange: true))
        record.services?.services = [
            .init(
                uuid: "180D",
                isPrimary: true,
                handle: 1,
                endHandle: 9,
                includes: [.init(uuid: "180F", handle: 2, startHandle: 10, endHandle: 12)],
                characteristics: [
                    .init(
                        uuid: "2A37",
                        properties: 0x10,
                        handle: 3,
                        valueHandle: 4,
                        endHandle: 5,
                        descriptors: [.init(uuid: "2902", handle: 5)]
                    )
                ]
            )
        ]
        let encoder = JSONEncoder()
        let files: [Data?] = [
            try? encoder.encode(record), PeerFile(record, of: peer).octets, try? encoder.encode(record.session),
            BondFile([]).octets,
        ]
        return files.compactMap { $0.map { [UInt8]($0) } }
    }
}

extension BluetoothUUID {
    fileprivate static let heartRateOfSeed = BluetoothUUID(0x2A37)
}

extension BondRecord {
    fileprivate init?(adapter: String, key: Key) {
        struct Form: Encodable {
            var adapter: String
            var encryptionKeys: [Key]
        }
        let form = Form(adapter: adapter, encryptionKeys: [key])
        guard let octets = try? JSONEncoder().encode(form),
            let record = try? JSONDecoder().decode(BondRecord.self, from: octets)
        else { return nil }
        self = record
    }
}
