/// Numbers as octets, the lowest first.
struct OctetWriter {
    private(set) var octets: [UInt8] = []

    mutating func add(_ value: UInt32) { withUnsafeBytes(of: value.littleEndian) { octets += $0 } }
    mutating func add(_ value: UInt64) { withUnsafeBytes(of: value.littleEndian) { octets += $0 } }
}

extension UnsafeRawBufferPointer {
    func uint32(at offset: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    func uint64(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
