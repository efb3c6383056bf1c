extension AdvertisingData {
    /// The transmit power of the advertisement, in dBm; together with the received strength it gives the path loss.
    public var txPower: Int8? {
        first(.txPower, atLeast: 1)?.first.map { Int8(bitPattern: $0) }
    }

    /// What the device looks like: a number from the list of appearance values (Assigned Numbers, 2.6).
    public var appearance: UInt16? {
        number(.appearance, octets: 2).map { UInt16(truncatingIfNeeded: $0) }
    }

    /// The first structure of a type that has at least so many octets, as a number.
    func number(_ type: AdvertisingData.FieldType, octets count: Int) -> UInt64? {
        guard let octets = first(type, atLeast: count) else { return nil }
        return octets.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
