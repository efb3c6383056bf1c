public import BLEProtocol

/// The octets of a characteristic, and when they were received; a collection of octets.
public struct CharacteristicValue: Hashable, Sendable {
    /// The octets, as a part of what brought them: values that came together may share an array, of 1 KiB at most.
    /// Whoever keeps one for long and not the others keeps `Array(value)` instead.
    public let bytes: ArraySlice<UInt8>

    /// When they were received.
    public let time: ReceptionTime

    /// Whether they came as an indication, which the peer knows to have arrived.
    public let isIndication: Bool

    /// Makes a value.
    @inlinable
    public init(bytes: ArraySlice<UInt8>, time: ReceptionTime, isIndication: Bool = false) {
        self.bytes = bytes
        self.time = time
        self.isIndication = isIndication
    }

    /// The octets as text, where they are valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// The octets in lower-case hexadecimal.
    public var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for octet in bytes {
            text.append(digits[Int(octet >> 4)])
            text.append(digits[Int(octet & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension CharacteristicValue: RandomAccessCollection {
    /// The first octet is number 0, wherever in its PDU it stood.
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { bytes.count }
    @inlinable public subscript(position: Int) -> UInt8 { bytes[bytes.startIndex + position] }
}
