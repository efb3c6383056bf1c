import BLEProtocol

/// The conversations of `gatt_vectors.json` in which a server is tested: recorded from another implementation, with
/// the databases that it had.
struct GATTServerConversations: Decodable {
    struct Database: Decodable {
        struct Line: Decodable {
            var handle: UInt16
            var type: String
            var permissions: [String]
            var value: String
            var serviceEndHandle: UInt16?
        }

        struct Hash: Decodable { var specOnAirLsbFirst: String }

        var attributes: [Line]
        var databaseHash: Hash?
    }

    struct Step: Decodable {
        var dir: String?
        var hex: String?
        var marker: String?
    }

    struct Action: Decodable {
        var kind: String
        var handle: UInt16?
        var value: String?
    }

    struct Conversation: Decodable {
        var name: String
        var role: String
        var localMtu: Int?
        var database: String?
        var action: Action?
        var steps: [Step]
    }

    var databases: [String: Database]
    var tests: [Conversation]
}

extension AttributeDatabase {
    /// A database as the vectors write it: every attribute with its handle, gaps and oddities included.
    init(_ lines: GATTServerConversations.Database) {
        var attributes: [Attribute] = []
        var characteristics: [DatabaseCharacteristic] = []
        for line in lines.attributes.sorted(by: { $0.handle < $1.handle }) {
            let value = WireText.octets(line.value)
            guard let type = BluetoothUUID(line.type) else { preconditionFailure("no UUID: \(line.type)") }
            var content = Attribute.Content.stored(value)
            if type == BluetoothUUID(0x2803), let uuid = BluetoothUUID(littleEndian: value.dropFirst(3)) {
                content = .constant(value)
                characteristics.append(
                    DatabaseCharacteristic(
                        id: uuid.description,
                        serviceUUID: BluetoothUUID(0),
                        uuid: uuid,
                        properties: Characteristic.Properties(rawValue: value[0]),
                        valueHandle: UInt16(value[1]) | UInt16(value[2]) << 8,
                        configuration: nil,
                        subscribing: .open
                    )
                )
            } else if type == BluetoothUUID(0x2902), let last = characteristics.indices.last {
                content = .clientConfiguration(characteristic: characteristics[last].valueHandle)
                characteristics[last].configuration = line.handle
            }
            attributes.append(
                Attribute(
                    handle: line.handle,
                    type: type,
                    permissions: AttributePermissions(
                        read: Self.requirement("read", line.permissions),
                        write: Self.requirement("write", line.permissions)
                    ),
                    content: content,
                    maximumLength: type == BluetoothUUID(0x2902) ? 2 : 512,
                    hasFixedLength: type == BluetoothUUID(0x2902),
                    groupEnd: line.serviceEndHandle
                )
            )
        }
        self.init(attributes: attributes, characteristics: characteristics)
    }

    private static func requirement(_ direction: String, _ permissions: [String]) -> AccessRequirement? {
        permissions.contains(direction + "_encrypt") ? .encrypted : permissions.contains(direction) ? .open : nil
    }
}
