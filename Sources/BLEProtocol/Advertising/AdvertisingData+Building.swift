extension AdvertisingData {
    /// The largest legacy advertisement, in octets; the scan response has the same size again.
    public static let legacyLimit = 31

    /// The largest extended advertisement, in octets, that Linux delivers in one report.
    public static let extendedLimit = 251

    /// Builds an advertisement.
    ///
    /// ```swift
    /// let advertisement = try AdvertisingData([.localName("Thermometer"), .services([.healthThermometer])])
    /// ```
    ///
    /// - Parameters:
    ///   - fields: its fields, in this order.
    ///   - limit: the room in octets: ``legacyLimit``, or up to ``extendedLimit`` for an adapter that supports it.
    /// - Throws: ``BLEError`` with the code ``BLEError/Code/overflow``, naming the first field that doesn't fit and how
    ///   many octets are left for it.
    public init(_ fields: [AdvertisingData.Field], limit: Int = legacyLimit) throws {
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
                        "it needs \(size) octets with length and type, and \(Swift.max(0, free)) of \(limit) are free",
                    remedy:
                        "Shorten it by \(size - Swift.max(0, free)) octets, put it into the scan response if that has "
                        + "room, or leave it out."
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
