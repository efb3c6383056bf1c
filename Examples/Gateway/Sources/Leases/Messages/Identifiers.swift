/// The address of a machine that holds peripherals: 48 bits, for instance those of its first adapter.
///
/// Two gateways on one broker must not have the same.
public struct GatewayID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The 48 bits.
    public let rawValue: UInt64

    /// Makes an identifier from its 48 bits; those above are dropped.
    public init(rawValue: UInt64) { self.rawValue = rawValue & 0xFFFF_FFFF_FFFF }

    public static func < (left: GatewayID, right: GatewayID) -> Bool { left.rawValue < right.rawValue }
}

/// The address of a peripheral: 48 bits.
public struct PeripheralID: RawRepresentable, Hashable, Sendable {
    /// The 48 bits.
    public let rawValue: UInt64

    /// Makes an identifier from its 48 bits; those above are dropped.
    public init(rawValue: UInt64) { self.rawValue = rawValue & 0xFFFF_FFFF_FFFF }
}

/// One connection of one gateway to the broker: 64 random bits, drawn anew for each CONNECT.
public struct SessionID: RawRepresentable, Hashable, Sendable {
    /// The 64 bits.
    public let rawValue: UInt64

    /// Makes an identifier from its 64 bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The name of one record: no two records have the same.
public struct Mark: Hashable, Sendable {
    /// The connection on which it was published.
    public var session: SessionID
    /// Its number on that connection.
    public var sequence: UInt32

    /// Makes a mark.
    public init(session: SessionID, sequence: UInt32) {
        self.session = session
        self.sequence = sequence
    }
}
