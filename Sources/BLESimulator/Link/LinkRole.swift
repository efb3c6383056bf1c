/// The role of a device on a link.
public enum LinkRole: String, Hashable, Sendable, CaseIterable {
    /// It made the connection.
    case central
    /// It advertised and accepted the connection.
    case peripheral

    /// The other role.
    public var opposite: LinkRole { self == .central ? .peripheral : .central }
}
