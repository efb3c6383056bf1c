extension AdvertisingData {
    /// How many octets an advertisement of version 4 holds, and so does its scan response.
    public static let legacyLimit = 31

    /// How many octets an extended advertisement holds, as far as Linux hands them on at once.
    public static let extendedLimit = 251

    /// Puts an advertisement together.
    ///
    /// ```swift
    /// let advertisement = try AdvertisingData([.localName("Thermometer"), .services([.healthThermometer])])
    /// ```
    ///
    /// - Parameters:
    ///   - fields: What it says, in this order.
    ///   - limit: How many octets there is room for: ``legacyLimit``, or up to ``extendedLimit`` for an adapter that
    ///     can advertise so much.
    /// - Throws: ``BLEError`` with the code ``BLEError/Code/overflow``, naming the first field that finds no room and
    ///   how many octets there are for it.
    public init(_ fields: [AdvertisingField], limit: Int = legacyLimit) throws {
        var bytes: [UInt8] = []
        for field in fields {
            let free = limit - bytes.count
            let size = field.structures.reduce(0) { $0 + 2 + $1.data.count }
            // An AD structure's length is one octet.
            guard size <= free, field.structures.allSatisfy({ $0.data.count <= 254 }) else {
                throw BLEError(
                    .overflow,
                    operation: "advertise",
                    object: field.name,
                    cause:
                        "it takes \(size) octets with its length and type, and \(Swift.max(0, free)) of \(limit) are free",
                    remedy:
                        "Shorten it by \(size - Swift.max(0, free)) octets, put it into the scan response where that has room, "
                        + "or leave it out."
                )
            }
            for structure in field.structures {
                bytes.append(UInt8(structure.data.count + 1))
                bytes.append(structure.type.rawValue)
                bytes += structure.data
            }
        }
        self.init(bytes: bytes)
    }
}
