extension AttributeDatabase {
    /// The Database Hash of all attributes, least significant octet first, as on air.
    ///
    /// Declarations and the Characteristic Extended Properties are hashed with their values, the other descriptors of
    /// GATT with handle and type only, and nothing else is: so a client learns whether what it remembers of a server is
    /// still valid.
    /// Source: Core Specification, Vol 3, Part G, 7.3.
    package func computedHash() -> [UInt8] {
        var input = ByteWriter(capacity: 16 * attributes.count)
        for attribute in attributes {
            guard let type = attribute.type.short else { continue }
            switch type {
            case 0x2800...0x2803, 0x2900:
                input.uint16(attribute.handle)
                input.uint16(type)
                switch attribute.content {
                case .constant(let value), .stored(let value): input.append(value)
                case .dynamic, .clientConfiguration, .clientFeatures, .databaseHash: break
                }
            case 0x2901...0x2905:
                input.uint16(attribute.handle)
                input.uint16(type)
            default: break
            }
        }
        return AESCMAC(key: [UInt8](repeating: 0, count: 16)).code(of: input.bytes).reversed()
    }
}
