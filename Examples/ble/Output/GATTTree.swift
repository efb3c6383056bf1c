import BLEStreams
import ConsoleOutput

/// What `ble info` has found out about a device.
struct GATTTree {
    /// The result of a read.
    enum Value {
        case octets([UInt8])
        case refused(String, ATTError?)
    }

    /// The device's address.
    let address: BluetoothAddress
    /// The largest PDU of the link, in octets.
    let mtu: Int
    /// The conditions of the link at the time of the request.
    var conditions: LinkConditions?
    /// The security of the link once everything had been read.
    var security: LinkSecurity
    /// The device's attributes.
    let database: GATTDatabase
    /// What was read, by handle.
    var values: [UInt16: Value] = [:]
    /// The security that reading a value requires, by handle, if known.
    var levels: [UInt16: LinkSecurity.Level] = [:]

    /// The facts about a link, without values.
    init(link: Link, database: GATTDatabase) {
        address = link.peripheral.address
        mtu = link.mtu
        security = link.security
        self.database = database
    }

    /// The handles of the values and descriptors that can be read.
    var readableHandles: [UInt16] {
        database.services.flatMap(\.characteristics).flatMap { characteristic in
            (characteristic.properties.contains(.read) ? [characteristic.valueHandle] : [])
                + characteristic.descriptors.map(\.handle)
        }
    }
}

// MARK: - What descriptors say

extension GATTTree {
    /// A descriptor's value in words, if its type is known.
    private func meaning(of descriptor: Descriptor) -> String? {
        guard case .octets(let octets)? = values[descriptor.handle] else { return nil }
        let value = Descriptor.Value(descriptor.uuid, octets: octets)
        if case .octets = value { return nil }
        return "\(value)"
    }

    /// The meaning of a characteristic's value, if its type is known.
    private func decoded(_ characteristic: Characteristic) -> DecodedValue? {
        guard case .octets(let octets)? = values[characteristic.valueHandle] else { return nil }
        return Decoders.decode(octets, of: characteristic.uuid)
    }

    /// A characteristic's value as a number, if a descriptor says how to read it; not finite for a float that is none.
    private func number(in characteristic: Characteristic) -> Double? {
        guard let descriptor = characteristic.descriptor(.characteristicPresentationFormat),
            case .octets(let octets)? = values[descriptor.handle],
            case .octets(let value)? = values[characteristic.valueHandle]
        else { return nil }
        return Descriptor.PresentationFormat(octets: octets)?.number(in: value)
    }
}

// MARK: - For a program

extension GATTTree {
    /// Everything as one object.
    var json: JSON {
        .object(
            ("address", .string("\(address)")),
            ("addressType", .string(address.kind.rawValue)),
            ("mtu", .number(mtu)),
            ("rssi", .number(conditions?.rssi)),
            ("encrypted", .bool(security.isEncrypted)),
            ("authenticated", .bool(security.isAuthenticated)),
            ("link", JSON.object(conditions?.json ?? [])),
            ("services", .array(database.services.map(json(of:))))
        )
    }

    private func json(of service: GATTService) -> JSON {
        .object(
            ("handle", .string(service.handle.handleText)),
            ("uuid", .string("\(service.uuid)")),
            ("name", .string(service.uuid.name)),
            ("primary", .bool(service.isPrimary)),
            (
                "includes",
                .array(
                    service.includedServices.map { included in
                        .object(
                            ("handle", .string(included.startHandle.handleText)),
                            ("uuid", .string("\(included.uuid)"))
                        )
                    }
                )
            ),
            ("characteristics", .array(service.characteristics.map(json(of:))))
        )
    }

    private func json(of characteristic: Characteristic) -> JSON {
        // JSON has no other numbers.
        let number = number(in: characteristic).flatMap { $0.isFinite ? $0 : nil }
        return .object(
            members(
                characteristic.valueHandle,
                characteristic.uuid,
                ("properties", .names(of: characteristic.properties))
            )
                + (number.map { [("number", .decimal($0))] } ?? [])
                + (decoded(characteristic).map { [("decoded", $0.json)] } ?? [])
                + [("descriptors", .array(characteristic.descriptors.map(json(of:))))]
        )
    }

    private func json(of descriptor: Descriptor) -> JSON {
        let meaning = meaning(of: descriptor).map { ("meaning", JSON.string($0)) }
        return .object(members(descriptor.handle, descriptor.uuid) + (meaning.map { [$0] } ?? []))
    }

    private func members(_ handle: UInt16, _ uuid: BluetoothUUID, _ more: (String, JSON)...) -> [(String, JSON)] {
        var members: [(String, JSON)] = [("handle", .string(handle.handleText)), ("uuid", .string("\(uuid)"))]
        if let name = uuid.name { members.append(("name", .string(name))) }
        members += more
        switch values[handle] {
        case .octets(let octets)?:
            members.append(("value", .hex(octets)))
            if let text = octets.utf8Text { members.append(("text", .string(text))) }
        case .refused(let reason, let error)?:
            members.append(("error", .string(reason)))
            if let error { members.append(("attError", .number(Int(error.rawValue)))) }
        case nil: break
        }
        if let level = levels[handle] { members.append(("access", .string(level.rawValue))) }
        return members
    }
}

// MARK: - For a person

extension GATTTree {
    /// The tree, a line for each attribute.
    var text: String {
        var lines = ["\(address)  \(address.kind)  MTU \(mtu)"]
        if let rssi = conditions?.rssi { lines[0] += "  \(rssi) dBm" }
        lines[0] += security.isEncrypted ? "  encrypted" : "  not encrypted"
        if let facts = conditions?.text { lines.append(facts) }
        for service in database.services {
            let secondary = service.isPrimary ? "" : ", secondary"
            lines.append("")
            lines.append("\(service.handle.handleText)  \(title(service.uuid))\(secondary)")
            for included in service.includedServices {
                lines.append("  includes \(included.startHandle.handleText)  \(title(included.uuid))")
            }
            for characteristic in service.characteristics {
                let handle = characteristic.valueHandle
                lines.append("  \(handle.handleText)  \(title(characteristic.uuid))  (\(characteristic.properties))")
                if let value = text(of: handle, characteristic.uuid) {
                    let number = decoded(characteristic) == nil ? number(in: characteristic) : nil
                    lines.append("          \(value)" + (number.map { " = \($0)" } ?? ""))
                }
                for descriptor in characteristic.descriptors {
                    let value =
                        (meaning(of: descriptor) ?? text(of: descriptor.handle)).map { ": \($0.harmless)" } ?? ""
                    lines.append("    \(descriptor.handle.handleText)  \(title(descriptor.uuid))\(value)")
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private func title(_ uuid: BluetoothUUID) -> String { uuid.name.map { "\(uuid) \($0)" } ?? "\(uuid)" }

    private func text(of handle: UInt16, _ uuid: BluetoothUUID? = nil) -> String? {
        switch values[handle] {
        case .octets(let octets)?: octets.readableText(of: uuid)
        case .refused(let reason, _)?: "refused: \(reason)"
        case nil: nil
        }
    }
}

extension JSON {
    /// The names of properties, in the form for programs.
    static func names(of properties: Characteristic.Properties) -> JSON {
        let names = properties.isEmpty ? [] : "\(properties)".split(separator: ", ")
        return .array(names.map { .string($0.inOneWord) })
    }
}

extension Substring {
    /// Words in the form for programs: `write without response` as `writeWithoutResponse`.
    fileprivate var inOneWord: String {
        let words = split(separator: " ")
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
