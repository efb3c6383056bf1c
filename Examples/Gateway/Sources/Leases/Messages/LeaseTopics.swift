/// The names of the topics of the leases, below one prefix.
public struct LeaseTopics: Hashable, Sendable {
    /// What all names begin with, without a slash at its end.
    public let prefix: String

    /// Makes the names below a prefix.
    public init(prefix: String = "blestreams") { self.prefix = prefix }

    /// Where the messages about a peripheral are: ``LeaseMessage``.
    public func lease(of peripheral: PeripheralID) -> String { "\(prefix)/leases/\(peripheral)" }

    /// Where the will of a gateway is: ``GoneSession``, retained.
    public func gone(_ gateway: GatewayID) -> String { "\(prefix)/gateways/\(gateway)/gone" }

    /// Where a gateway sends its pulses to itself: any payload that names the number of the pulse, not retained.
    public func pulse(of gateway: GatewayID) -> String { "\(prefix)/gateways/\(gateway)/pulse" }
}

/// The will of a connection: it is over, and its gateway acts on nothing by it any more.
public struct GoneSession: Hashable, Sendable, Codable {
    /// The connection, as 16 hexadecimal digits.
    public var session: String

    /// The will of this connection.
    public init(_ session: SessionID) { self.session = session.description }

    /// The connection; `nil` if what was received isn't one.
    public var id: SessionID? {
        session.utf8.count == 16 ? UInt64(session, radix: 16).map(SessionID.init(rawValue:)) : nil
    }
}

extension GatewayID: CustomStringConvertible {
    /// Twelve hexadecimal digits.
    public var description: String { padded(rawValue, 12) }
}

extension PeripheralID: CustomStringConvertible {
    /// Twelve hexadecimal digits.
    public var description: String { padded(rawValue, 12) }
}

extension SessionID: CustomStringConvertible {
    /// Sixteen hexadecimal digits.
    public var description: String { padded(rawValue, 16) }
}

private func padded(_ value: UInt64, _ digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
