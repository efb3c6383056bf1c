/// One attribute of the server: a handle, a type, and a value.
///
/// Source: Core Specification, Vol 3, Part F, 3.2.
package struct Attribute: Hashable, Sendable {
    /// The place of an attribute's value.
    package enum Content: Hashable, Sendable {
        /// In the description, and never changed: a declaration, the extended properties.
        case constant([UInt8])
        /// In the database, the same for every client.
        case stored([UInt8])
        /// In the program, which supplies it on request.
        case dynamic
        /// In the client's state, since each client has its own: its subscription to this characteristic.
        case clientConfiguration(characteristic: UInt16)
        /// In the client's state: the GATT features that it supports.
        case clientFeatures
        /// The Database Hash, 16 octets in their order on air; the database keeps it up to date.
        case databaseHash([UInt8])
    }

    /// The number by which the link refers to it, 1 to 0xFFFF.
    package var handle: UInt16
    package var type: BluetoothUUID
    package var permissions: AttributePermissions
    package var content: Content
    /// The longest value in octets.
    package var maximumLength: Int
    /// Whether the value always has `maximumLength` octets.
    package var hasFixedLength: Bool
    /// Whether the program approves a client's write before the stored value changes.
    package var isJudged: Bool
    /// The last handle of the group that this attribute begins, a service or a characteristic; otherwise its own.
    package var groupEnd: UInt16

    package init(
        handle: UInt16,
        type: BluetoothUUID,
        permissions: AttributePermissions,
        content: Content,
        maximumLength: Int = ATTLimits.maximumValueLength,
        hasFixedLength: Bool = false,
        isJudged: Bool = false,
        groupEnd: UInt16? = nil
    ) {
        self.handle = handle
        self.type = type
        self.permissions = permissions
        self.content = content
        self.maximumLength = maximumLength
        self.hasFixedLength = hasFixedLength
        self.isJudged = isJudged
        self.groupEnd = groupEnd ?? handle
    }
}

extension Attribute {
    /// The value after a Write Request or Command: a value of variable length is replaced, of one of fixed length the
    /// leading octets.
    package func replacing(_ current: [UInt8], with new: ArraySlice<UInt8>) throws(ATTError) -> [UInt8] {
        guard new.count <= maximumLength else { throw .invalidAttributeValueLength }
        guard hasFixedLength else { return Array(new) }
        return Array(new) + current.dropFirst(new.count)
    }

    /// The value after one prepared write: its octets overwrite the value, which grows if they reach beyond its end.
    package func overlaying(
        _ current: [UInt8],
        with part: ArraySlice<UInt8>,
        at offset: Int
    ) throws(ATTError) -> [UInt8] {
        guard offset <= current.count else { throw .invalidOffset }
        guard offset + part.count <= maximumLength else { throw .invalidAttributeValueLength }
        return Array(current.prefix(offset)) + part + current.dropFirst(offset + part.count)
    }
}
