public import BLEProtocol

/// The value of a characteristic: a collection of octets, with the time of reception.
public struct CharacteristicValue: Hashable, Sendable {
    /// The octets, as a slice: values that arrived together may share an array, of at most 1 KiB. To keep one of them
    /// for long, store `Array(value)`.
    public let bytes: ArraySlice<UInt8>

    /// The time of reception.
    public let time: ReceptionTime

    /// Whether the value came as an indication, whose arrival this side confirms to the peer.
    public let isIndication: Bool

    /// Makes a value.
    @inlinable
    public init(bytes: ArraySlice<UInt8>, time: ReceptionTime, isIndication: Bool = false) {
        self.bytes = bytes
        self.time = time
        self.isIndication = isIndication
    }

    /// The octets as text, if they are valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// The octets in lower-case hexadecimal.
    public var hex: String { bytes.hexDigits }
}

extension CharacteristicValue: RandomAccessCollection {
    /// The first octet has the index 0.
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { bytes.count }
    @inlinable public subscript(position: Int) -> UInt8 { bytes[bytes.startIndex + position] }
}
