import BLEStreams
import ConsoleOutput
import FoundationEssentials

/// A file's description of a device, in the format that `ble info --json` prints.
struct DatabaseFile: Decodable {
    /// The name to advertise, if the file gives one.
    var name: String?
    /// The appearance of the device, if the file gives it.
    var appearance: UInt16?
    /// The services to advertise, if the file lists them.
    var advertising: [UUIDText]?
    /// Whether the link was encrypted when the values were read.
    var isEncrypted: Bool
    var services: [ServiceEntry]

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder,
            known: [
                "address", "addressType", "mtu", "rssi", "encrypted", "authenticated", "link", "services", "name",
                "appearance", "advertising",
            ]
        )
        name = try members["name"]
        appearance = try members.number("appearance", in: 0...UInt16.max)
        advertising = try members["advertising"]
        isEncrypted = try members["encrypted"] ?? false
        services = try members.required("services")
    }
}

/// A service of the file.
struct ServiceEntry: Decodable {
    var handle: String?
    var uuid: BluetoothUUID
    var isPrimary: Bool
    var includes: [IncludeEntry]
    var characteristics: [CharacteristicEntry]

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, known: ["handle", "uuid", "name", "primary", "includes", "characteristics"])
        handle = try members["handle"]
        uuid = try members.required("uuid", as: UUIDText.self).uuid
        isPrimary = try members["primary"] ?? true
        includes = try members["includes"] ?? []
        characteristics = try members["characteristics"] ?? []
    }
}

/// A service's reference to another one: by handle, or by UUID if there is no handle.
struct IncludeEntry: Decodable {
    var handle: String?
    var uuid: BluetoothUUID

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, known: ["handle", "uuid"])
        handle = try members["handle"]
        uuid = try members.required("uuid", as: UUIDText.self).uuid
    }
}

/// A characteristic of the file.
struct CharacteristicEntry: Decodable {
    var attribute: AttributeEntry
    var properties: Characteristic.Properties
    var descriptors: [AttributeEntry]

    private static let names: [(String, Characteristic.Properties)] = [
        ("broadcast", .broadcast), ("read", .read), ("writeWithoutResponse", .writeWithoutResponse), ("write", .write),
        ("notify", .notify), ("indicate", .indicate), ("authenticatedSignedWrites", .authenticatedSignedWrites),
        ("extendedProperties", .extendedProperties),
    ]

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, known: AttributeEntry.members + ["properties", "number", "descriptors"])
        attribute = try AttributeEntry(members)
        descriptors = try members["descriptors"] ?? []
        if let changing = descriptors.first(where: { $0.value?.interval != nil }) {
            throw members.refusal(of: "descriptors", "the value of \(changing.uuid) must be octets: hex or text")
        }
        properties = []
        for name in try members["properties", as: [String].self] ?? [] {
            guard let property = Self.names.first(where: { $0.0 == name })?.1 else {
                let known = Self.names.map(\.0).joined(separator: ", ")
                throw members.refusal(of: "properties", "'\(name.harmless)' is not a property; they are \(known)")
            }
            properties.insert(property)
        }
        if properties.contains(.authenticatedSignedWrites),
            properties.isDisjoint(with: [.write, .writeWithoutResponse])
        {
            throw members.refusal(
                of: "properties",
                "signatures can't be verified, so signed writes alone can't be served; add write"
            )
        }
    }
}

/// What a characteristic and a descriptor have in common.
struct AttributeEntry: Decodable {
    var uuid: BluetoothUUID
    /// Its value; `nil`: unknown.
    var value: ValueSource?
    /// The security that it requires; `nil`: not given.
    var access: AccessRequirement?
    /// The error that a read got instead of the value.
    var error: ATTError?

    static let members = [
        "handle", "uuid", "name", "value", "text", "decoded", "meaning", "access", "error", "attError",
    ]

    init(from decoder: any Decoder) throws { try self.init(Members(decoder, known: Self.members)) }

    init(_ members: Members) throws {
        uuid = try members.required("uuid", as: UUIDText.self).uuid
        // Beside a value, the text is what `ble info` reads from it.
        value = try members["value"] ?? members["text", as: String.self].map { .fixed(Array($0.utf8)) }
        if case .fixed(let octets)? = value, octets.count > ValueSource.limit {
            throw members.refusal(of: "value", ValueSource.tooLong(octets.count))
        }
        error = try members.number("attError", in: 1...UInt8.max).map { ATTError(rawValue: $0) }
        if let level = try members["access", as: String.self] {
            guard let requirement = AccessRequirement(level: level) else {
                let levels = AccessRequirement.levels.joined(separator: ", ")
                throw members.refusal(of: "access", "'\(level.harmless)' is not a level; they are \(levels)")
            }
            access = requirement
        }
    }
}

/// A UUID in a file.
struct UUIDText: Decodable {
    let uuid: BluetoothUUID

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let uuid = BluetoothUUID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text.prefix(40).description.harmless)': \(UsageError.uuidForm)"
            )
        }
        self.uuid = uuid
    }
}

extension AccessRequirement {
    static let levels = ["open", "encrypted", "authenticated"]

    /// Reads a level in the form that `--access` takes; `nil` for any other word.
    init?(level: String) {
        switch level {
        case "open": self = .open
        case "encrypted": self = .encrypted
        case "authenticated": self = .authenticated
        default: return nil
        }
    }
}
