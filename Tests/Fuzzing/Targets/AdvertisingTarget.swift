import BLEDevices
import BLEProtocol

extension FuzzTarget {
    /// What anybody in the room can send: an advertisement, every reader of it, and the beacons.
    static let advertising = FuzzTarget("advertising", longest: 256, seeds: AdvertisingCheck.seeds) { octets in
        let check = AdvertisingCheck(AdvertisingData(bytes: octets))
        try check.walk()
        try check.readers()
        try check.beacons()
        try check.layout()
    }
}

private struct AdvertisingCheck {
    let data: AdvertisingData

    init(_ data: AdvertisingData) { self.data = data }

    func walk() throws {
        let written = try AdvertisingData(data.map { .raw($0.type, $0.data) }, limit: .max).bytes
        try require(data.bytes.starts(with: written) || isSparse, "walked and written: \(written)")
        _ = data.description
        for (type, _) in data { _ = type.description }
    }

    /// Whether a structure without a type stands in it: those are passed over.
    private var isSparse: Bool { data.reduce(0) { $0 + 2 + $1.data.count } < data.bytes.count }

    func readers() throws {
        let services = data.serviceUUIDs
        try require(Set(services).count == services.count, "a service is listed twice")
        try require(services.allSatisfy(data.lists), "a listed service is not found")
        try require(data.solicitedServiceUUIDs.allSatisfy(data.solicits), "a solicited service is not found")
        for entry in data.serviceData {
            try require(data.serviceData(for: entry.service) != nil, "service data is not found")
        }
        for entry in data.manufacturerData {
            try require(data.manufacturerData(for: entry.company) != nil, "manufacturer data is not found")
        }
        let name = data.localName
        try require(name.map { $0.utf8.count <= data.bytes.count } ?? true, "the name is longer than the data")
        try require(data.isLocalNameComplete || data.completeLocalNameOctets == nil, "complete without octets")
        let addresses = data.publicTargetAddresses + data.randomTargetAddresses
        try require(addresses.count * 6 <= data.bytes.count, "more addresses than octets")
        _ = (data.flags, data.uri, data.txPower, data.appearance, data.role, data.supportedFeatures)
        _ = (data.shortenedLocalNameOctets, data.hasIncompleteServices)
        _ = (data.connectionIntervalRange, data.advertisingInterval)
    }

    func beacons() throws {
        if let beacon = IBeacon(data) { try again(beacon.fields, beacon, IBeacon.init) }
        if let reading = BTHome(data) { try again(reading.fields, reading, BTHome.init) }
        // A URL may be longer than it may be advertised with.
        if let beacon = Eddystone(data), let fields = try? beacon.fields { try again(fields, beacon, Eddystone.init) }
    }

    private func again<Beacon: Equatable>(
        _ fields: [AdvertisingData.Field],
        _ beacon: Beacon,
        _ read: (AdvertisingData) -> Beacon?
    ) throws {
        let sent = try AdvertisingData(fields, limit: .max)
        try require(read(sent) == beacon, "\(beacon) is read as \(read(sent).map { "\($0)" } ?? "nothing")")
    }

    /// Has it sent by us, in pieces.
    func layout() throws {
        let fields = data.fields
        // A program declares some fields, not hundreds.
        guard fields.count <= 16 else { return }
        let split = fields.count / 2
        for limit in [nil, 251] as [Int?] {
            do throws(AdvertisingFault) {
                let layout = try AdvertisingLayout(
                    Array(fields[..<split]),
                    scanResponse: Array(fields[split...]),
                    extendedLimit: limit
                )
                let room = layout.isExtended ? limit ?? 0 : AdvertisingData.legacyLimit
                try fits(layout.data, room)
                try fits(layout.scanResponse, layout.isExtended ? 0 : AdvertisingData.legacyLimit)
            } catch {
                let text = error.error(on: "hci0")
                _ = (text.description, text.remedy)
            }
        }
    }

    private func fits(_ part: AdvertisingData, _ limit: Int) throws(AdvertisingFault) {
        precondition(part.bytes.count <= limit, "\(part.bytes.count) octets in \(limit)")
    }

    static let seeds: [[UInt8]] = {
        let uuid: BluetoothUUID = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
        let address = BluetoothAddress("C4:F2:17:1A:1D:BB/random")
        let interval = AdvertisingData.ConnectionIntervalRange(minimum: .milliseconds(20), maximum: nil)
        let telemetry = Eddystone.Telemetry(
            batteryMillivolts: 3000,
            temperature: 21.5,
            advertisementCount: 7,
            uptime: .seconds(60)
        )
        var lists: [[AdvertisingData.Field]] = [
            [.flags(.generalDiscoverable), .localName("Thermometer"), .services([.heartRate, uuid])],
            [.localName("Ther", isComplete: false), .services([BluetoothUUID(0x180F)], isComplete: false)],
            [.solicitedServices([BluetoothUUID(0x180F), uuid]), .txPower(-4), .appearance(0x0340)],
            [.serviceData(.heartRate, [1, 2]), .serviceData(uuid, [3]), .manufacturerData(0x004C, [1])],
            [.uri("https://example.org"), .role(.peripheralPreferred), .supportedFeatures(0x0102)],
            [.connectionIntervalRange(interval), .advertisingInterval(.milliseconds(100))],
            [.targetAddresses(address.map { [$0, $0] } ?? [])],
            IBeacon(uuid: uuid, major: 1, minor: 2).fields,
        ]
        lists += [
            .identifier(namespace: .init(0..<10), instance: .init(0..<6), power: -20),
            .url("https://www.example.org/a.com", power: -20), .telemetry(telemetry),
        ].compactMap { try? ($0 as Eddystone).fields }
        let readings = BTHome.Object.all.compactMap { try? BTHome.Measurement($0, 1) }
        for start in stride(from: 0, to: readings.count, by: 8) {
            lists.append(BTHome(Array(readings[start..<min(start + 8, readings.count)]), isTriggered: true).fields)
        }
        return lists.compactMap { try? AdvertisingData($0, limit: 251).bytes }
    }()
}
