/// Writes the fields of a value, least significant octet first.
public struct ValueWriter {
    /// The octets written so far.
    public private(set) var octets: [UInt8] = []

    init() {}

    /// One octet.
    public mutating func uint8(_ value: UInt8) { octets.append(value) }
    /// One octet, signed.
    public mutating func int8(_ value: Int8) { integer(value) }
    /// Two octets.
    public mutating func uint16(_ value: UInt16) { integer(value) }
    /// Two octets, signed.
    public mutating func int16(_ value: Int16) { integer(value) }
    /// Four octets.
    public mutating func uint32(_ value: UInt32) { integer(value) }

    /// Octets, unchanged.
    public mutating func bytes(_ bytes: some Sequence<UInt8>) { octets.append(contentsOf: bytes) }

    private mutating func integer(_ value: some FixedWidthInteger) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) {
            octets.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
