import BLEDevices
import BLEProtocol

extension FuzzTarget {
    /// What anybody in the room can send: an advertisement, every reader of it, the beacons and the sensors.
    static let advertising = FuzzTarget("advertising", longest: 256, seeds: AdvertisingCheck.seeds) { octets in
        let check = AdvertisingCheck(AdvertisingData(bytes: octets))
        try check.walk()
        try check.readers()
        try check.declared()
        try check.beacons()
        try check.sensors()
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
        for entry in data.serviceData {
            try require(data.serviceData(for: entry.service) != nil, "service data is not found")
        }
        for entry in data.manufacturerData {
            try require(data.manufacturerData(for: entry.company) != nil, "manufacturer data is not found")
        }
        let name = data.localName
        try require(name.map { $0.utf8.count <= data.bytes.count } ?? true, "the name is longer than the data")
        try require(data.isLocalNameComplete || data.completeLocalNameOctets == nil, "complete without octets")
        _ = (data.flags, data.uri, data.txPower, data.appearance, data.advertisingInterval)
        _ = (data.shortenedLocalNameOctets, data.hasIncompleteServices)
    }

    /// What was read, declared as a program declares it, is read as the same.
    func declared() throws {
        let services = data.serviceUUIDs
        var fields = data.serviceData.map { AdvertisingData.Field.serviceData($0.service, $0.data) }
        fields += data.manufacturerData.map { AdvertisingData.Field.manufacturerData($0.company, $0.data) }
        fields.append(.services(services, isComplete: !data.hasIncompleteServices))
        fields.append(.solicitedServices(data.solicitedServiceUUIDs))
        if let flags = data.flags { fields.append(.flags(flags)) }
        if let name = data.localName { fields.append(.localName(name, isComplete: data.isLocalNameComplete)) }
        if let power = data.txPower { fields.append(.txPower(power)) }
        if let appearance = data.appearance { fields.append(.appearance(appearance)) }
        if let uri = data.uri { fields.append(.uri(uri)) }
        if let interval = data.advertisingInterval { fields.append(.advertisingInterval(interval)) }
        guard let sent = try? AdvertisingData(fields, limit: .max) else { return }
        // By the widths of the UUIDs, not in the order in which they came.
        try require(Set(sent.serviceUUIDs) == Set(services), "services differ")
        try require(services.isEmpty || sent.hasIncompleteServices == data.hasIncompleteServices, "complete or not")
        try require(Set(sent.solicitedServiceUUIDs) == Set(data.solicitedServiceUUIDs), "solicited services differ")
        try require(sent.serviceData == data.serviceData, "service data differs")
        try require(sent.manufacturerData == data.manufacturerData, "manufacturer data differs")
        try require(sent.flags == data.flags, "the flags differ")
        try require(sent.localName == data.localName, "the name differs: \(sent.localName ?? "none")")
        try require(sent.isLocalNameComplete == data.isLocalNameComplete, "another kind of name")
        try require(sent.txPower == data.txPower && sent.appearance == data.appearance, "power or appearance differs")
        // A scheme is written in capital letters or not.
        try require(sent.uri?.lowercased() == data.uri?.lowercased(), "the URI differs: \(sent.uri ?? "none")")
        try require(sent.advertisingInterval == data.advertisingInterval, "the interval differs")
    }

    /// The formats of makers, and the data that two devices exchange on another way than the air.
    func sensors() throws {
        _ = (Ruuvi(data), Govee(data), ATCThermometer(data), MiBeacon(data), SwitchBot(data))
        guard let exchanged = OutOfBandData(octets: data.bytes) else { return }
        try require(OutOfBandData(octets: exchanged.octets) == exchanged, "\(exchanged) is read as other data")
        _ = Mirror(reflecting: exchanged).children.count
    }

    func beacons() throws {
        if let beacon = IBeacon(data) { try again(beacon.fields, beacon, IBeacon.init) }
        if let reading = BTHome(data) {
            try again(reading.fields, reading, BTHome.init)
            for measurement in reading.measurements { try declared(measurement) }
        }
        // A URL may be longer than it may be advertised with.
        if let beacon = Eddystone(data), let fields = try? beacon.fields { try again(fields, beacon, Eddystone.init) }
        // What a program may declare wrongly.
        let url = data.uri.flatMap { try? Eddystone.url($0, power: 0).fields }
        _ = (url, try? Eddystone.identifier(namespace: data.bytes, instance: [], power: 0).fields)
    }

    private func declared(_ measurement: BTHome.Measurement) throws {
        let object = measurement.object
        let again = try BTHome.Measurement(object, measurement.value)
        try require(again == measurement, "\(measurement) is declared as \(again)")
        try require(object.name.flatMap(BTHome.Object.init(name:)) == object, "\(object) has another's name")
        _ = (object.unit, object.step, try? BTHome.Measurement(object, .infinity))
        _ = try? BTHome.Measurement(BTHome.Object(rawValue: 0x53), 0)
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
            [.uri("https://example.org"), .advertisingInterval(.milliseconds(100))],
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
