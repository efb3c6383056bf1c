extension AdvertisingData {
    /// Data in a company's own format.
    public struct ManufacturerData: Hashable, Sendable {
        /// The company's number, from the Bluetooth SIG's list of company identifiers: 0x004C is Apple.
        public let company: UInt16
        /// The octets after the company's number, in the company's own format.
        public let data: ArraySlice<UInt8>
    }

    /// The data of all companies, in the order of the advertisement; a company may occur several times.
    public var manufacturerData: [ManufacturerData] {
        compactMap { type, data in Self.manufacturerData(type, data) }
    }

    /// The data of one company, from its first structure; allocates nothing.
    public func manufacturerData(for company: UInt16) -> ArraySlice<UInt8>? {
        for (type, data) in self {
            if let found = Self.manufacturerData(type, data), found.company == company { return found.data }
        }
        return nil
    }

    private static func manufacturerData(_ type: AdvertisingData.FieldType, _ data: ArraySlice<UInt8>)
        -> ManufacturerData?
    {
        guard type == .manufacturerData else { return nil }
        var reader = ByteReader(data)
        return reader.uint16().map { ManufacturerData(company: $0, data: reader.rest()) }
    }
}
