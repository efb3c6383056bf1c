extension FixedWidthInteger {
    /// The octets, the most significant first.
    package var bigEndianOctets: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}
