/// The payload of an advertisement: a list of AD structures, kept as it was received.
///
/// Iterate it as a sequence of types and data, or use the properties for common types:
///
/// ```swift
/// for (type, data) in advertisement { print(type, data.count) }
/// if advertisement.lists(.heartRate), let name = advertisement.localName { … }
/// ```
///
/// Nothing is parsed until it is needed, and iterating allocates nothing. A structure of length zero ends the list, and
/// so does one that is longer than the remaining octets; the structures before it are valid. If a type with a single
/// value occurs more than once, the first occurrence that is long enough counts.
///
/// Source: Core Specification, Vol 3, Part C, 11; the data types: Core Specification Supplement, Part A.
public struct AdvertisingData: Hashable, Sendable {
    /// The octets as they were received: advertising data, then scan response data where the radio merged them.
    public let bytes: [UInt8]

    /// Wraps the octets of an advertisement; nothing is parsed until it is needed.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

extension AdvertisingData: Sequence {
    /// Walks the AD structures from the first to the last.
    public struct Iterator: IteratorProtocol {
        private let bytes: [UInt8]
        private var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// The next structure: its type and the octets after the type, possibly none; `nil` at the end, at a length of
        /// zero and at a length that overruns the octets.
        public mutating func next() -> (type: AdvertisingData.FieldType, data: ArraySlice<UInt8>)? {
            guard position < bytes.count else { return nil }
            let length = Int(bytes[position])
            let end = position + 1 + length
            guard length > 0, end <= bytes.count else {
                position = bytes.count
                return nil
            }
            defer { position = end }
            return (AdvertisingData.FieldType(rawValue: bytes[position + 1]), bytes[position + 2..<end])
        }
    }

    /// Starts at the first structure.
    public func makeIterator() -> Iterator { Iterator(bytes: bytes) }
}

extension AdvertisingData {
    /// The data of the first structure of a type that has at least so many octets.
    func first(_ type: AdvertisingData.FieldType, atLeast count: Int = 0) -> ArraySlice<UInt8>? {
        for (found, data) in self where found == type && data.count >= count { return data }
        return nil
    }
}

extension AdvertisingData {
    /// This advertisement and its scan response as one. What pads the advertisement would hide the response, for a
    /// length of zero ends the list; and a structure that is longer than the rest would take the response's first
    /// octets for its own. The kernel leaves both out as well.
    package func followed(by response: some Collection<UInt8>) -> AdvertisingData {
        var end = 0
        while end < bytes.count, bytes[end] > 0 {
            let next = end + 1 + Int(bytes[end])
            if next > bytes.count { break }
            end = next
        }
        return AdvertisingData(bytes: Array(bytes.prefix(end)) + response)
    }
}

extension AdvertisingData: CustomStringConvertible {
    /// The octets in hex, lower case.
    public var description: String { bytes.hexDigits }
}
