/// Whether an attribute can be read and written, and what each requires of the client.
public struct AttributePermissions: Hashable, Sendable {
    /// The requirement for reading; `nil`: the attribute can't be read.
    public var read: AccessRequirement?

    /// The requirement for writing; `nil`: the attribute can't be written.
    public var write: AccessRequirement?

    /// Makes permissions; an omitted operation is not permitted.
    public init(read: AccessRequirement? = nil, write: AccessRequirement? = nil) {
        self.read = read
        self.write = write
    }

    /// Every client may read; none may write.
    package static let readOnly = AttributePermissions(read: .open)

    /// Makes the permissions that a characteristic's properties promise, each with the same requirement.
    ///
    /// If signed writes are the only kind of write among them, `write` is `nil`: unsigned writes are not permitted.
    public init(_ properties: Characteristic.Properties, access: AccessRequirement = .open) {
        let writes: Characteristic.Properties = [.write, .writeWithoutResponse]
        read = properties.contains(.read) ? access : nil
        write = properties.isDisjoint(with: writes) ? nil : access
    }
}
