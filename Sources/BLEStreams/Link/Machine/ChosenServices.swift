import BLEProtocol

/// Individually discovered services, on a link whose services are not all known.
struct ChosenServices {
    private var asked: Set<BluetoothUUID> = []
    private(set) var database = GATTDatabase()

    /// The UUIDs not yet discovered.
    func missing(of uuids: [BluetoothUUID]) -> [BluetoothUUID] { uuids.filter { !asked.contains($0) } }

    /// Records the services found for these UUIDs.
    mutating func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) {
        asked.formUnion(uuids)
        let known = Set(database.services.map(\.handle))
        let new = found.services.filter { !known.contains($0.handle) }
        database.services = (database.services + new).sorted { $0.handle < $1.handle }
    }
}

extension GATTDatabase {
    /// Only the services of these UUIDs.
    func only(_ uuids: [BluetoothUUID]) -> GATTDatabase {
        GATTDatabase(services: services.filter { uuids.contains($0.uuid) })
    }
}
