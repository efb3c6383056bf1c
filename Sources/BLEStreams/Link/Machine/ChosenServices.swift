import BLEProtocol

/// Services that were discovered alone, on a link of which not everything is known.
struct ChosenServices {
    private var asked: Set<BluetoothUUID> = []
    private(set) var database = GATTDatabase()

    /// Those that have not been asked for yet.
    func missing(of uuids: [BluetoothUUID]) -> [BluetoothUUID] { uuids.filter { !asked.contains($0) } }

    /// Takes note of what was found of these UUIDs.
    mutating func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) {
        asked.formUnion(uuids)
        let known = Set(database.services.map(\.handle))
        let new = found.services.filter { !known.contains($0.handle) }
        database.services = (database.services + new).sorted { $0.handle < $1.handle }
    }
}

extension GATTDatabase {
    /// The services of these UUIDs alone.
    func only(_ uuids: [BluetoothUUID]) -> GATTDatabase {
        GATTDatabase(services: services.filter { uuids.contains($0.uuid) })
    }
}
