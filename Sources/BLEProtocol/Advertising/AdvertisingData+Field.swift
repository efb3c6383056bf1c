extension AdvertisingData {
    /// One field of an advertisement, from which ``AdvertisingData`` is built.
    public struct Field: Hashable, Sendable {
        /// What an error calls the field: `local name "Thermometer"`.
        let name: String

        /// The AD structures that carry it.
        let structures: [Structure]

        struct Structure: Hashable, Sendable {
            let type: AdvertisingData.FieldType
            let data: [UInt8]
        }

        /// Whether it is the flags.
        package var isFlags: Bool { structures.contains { $0.type == .flags } }

        private init(_ name: String, _ structures: [Structure]) {
            self.name = name
            self.structures = structures
        }

        private init(_ name: String, _ type: AdvertisingData.FieldType, _ data: [UInt8]) {
            self.init(name, [Structure(type: type, data: data)])
        }
    }
}

extension AdvertisingData.Field {
    /// Whether the device can be discovered. Linux adds these itself when it is set to be discoverable.
    public static func flags(_ flags: AdvertisingData.Flags) -> Self {
        Self("flags", .flags, [flags.rawValue])
    }

    /// The device's complete name or, with `isComplete: false`, its beginning.
    public static func localName(_ name: String, isComplete: Bool = true) -> Self {
        Self("local name \"\(name)\"", isComplete ? .completeLocalName : .shortenedLocalName, Array(name.utf8))
    }

    /// The device's services; UUIDs of each width form their own list. `isComplete: false` says that there are more.
    public static func services(_ services: [BluetoothUUID], isComplete: Bool = true) -> Self {
        Self(
            "services",
            lists(
                services,
                isComplete ? .completeServices16 : .incompleteServices16,
                isComplete ? .completeServices32 : .incompleteServices32,
                isComplete ? .completeServices128 : .incompleteServices128
            )
        )
    }

    /// Services that the device looks for on others; UUIDs of each width form their own list.
    public static func solicitedServices(_ services: [BluetoothUUID]) -> Self {
        Self("solicited services", lists(services, .solicitedServices16, .solicitedServices32, .solicitedServices128))
    }

    /// Data of a service.
    public static func serviceData(_ service: BluetoothUUID, _ data: some Collection<UInt8>) -> Self {
        let uuid = service.shortestOctets
        let type: AdvertisingData.FieldType =
            switch uuid.count {
            case 2: .serviceData16
            case 4: .serviceData32
            default: .serviceData128
            }
        return Self("service data of \(service)", type, uuid + data)
    }

    /// Data in a company's own format, after the number that the Bluetooth SIG assigned to the company.
    public static func manufacturerData(_ company: UInt16, _ data: some Collection<UInt8>) -> Self {
        Self("manufacturer data", .manufacturerData, littleEndian(UInt64(company), 2) + data)
    }

    /// The transmit power of the advertisement, in dBm, −127 to 127.
    public static func txPower(_ decibels: Int8) -> Self {
        Self("TX power", .txPower, [UInt8(bitPattern: decibels)])
    }

    /// What the device looks like: a number from the list of appearance values.
    public static func appearance(_ appearance: UInt16) -> Self {
        Self("appearance", .appearance, littleEndian(UInt64(appearance), 2))
    }

    /// A URI; a scheme to which the Bluetooth SIG has assigned a number is sent as that number.
    public static func uri(_ uri: String) -> Self {
        let (code, length) = URIScheme.code(for: uri)
        // The codes are 1 to 0xBA, all of them scalars.
        let scheme = Unicode.Scalar(code).map { String(Character($0)) } ?? ""
        return Self("URI", .uri, Array((scheme + uri.dropFirst(length)).utf8))
    }

    /// How often the device advertises, rounded down to steps of 0.625 ms.
    public static func advertisingInterval(_ interval: Duration) -> Self {
        let units = steps(in: interval, microseconds: 625, limit: 0xFFFF_FFFF)
        if units <= 0xFFFF { return Self("advertising interval", .advertisingInterval, littleEndian(units, 2)) }
        let count = units <= 0xFF_FFFF ? 3 : 4
        return Self("advertising interval", .advertisingIntervalLong, littleEndian(units, count))
    }

    /// An AD structure of any type, its data as given.
    public static func raw(_ type: AdvertisingData.FieldType, _ data: some Collection<UInt8>) -> Self {
        Self(type.description, type, Array(data))
    }
}

extension AdvertisingData.Field {
    private static func lists(
        _ services: [BluetoothUUID],
        _ type16: AdvertisingData.FieldType,
        _ type32: AdvertisingData.FieldType,
        _ type128: AdvertisingData.FieldType
    ) -> [Structure] {
        let octets = services.map(\.shortestOctets)
        return [(type16, 2), (type32, 4), (type128, 16)].compactMap { type, width in
            let list = octets.filter { $0.count == width }
            return list.isEmpty ? nil : Structure(type: type, data: list.flatMap(\.self))
        }
    }

    private static func littleEndian(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    /// A duration in whole steps, at least none and at most `limit`.
    private static func steps(in duration: Duration, microseconds step: Int64, limit: UInt64) -> UInt64 {
        let most = Duration.microseconds(step) * Int(limit)
        if duration >= most { return limit }
        if duration <= .zero { return 0 }
        let (seconds, attoseconds) = duration.components
        // Less than 2³² steps of 0.625 ms: far from the limits of 64 bits.
        return UInt64((seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / step)
    }
}
