/// The payload of an advertisement: a list of AD structures, kept as it was received.
public struct AdvertisingData: Hashable, Sendable {
    /// The octets as they were received: advertising data, then scan response data where the radio merged them.
    public let bytes: [UInt8]

    /// Wraps the octets of an advertisement; nothing is parsed before it is asked for.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
