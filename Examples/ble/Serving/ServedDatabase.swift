import BLEStreams

/// The device that a file describes, to be served.
struct ServedDatabase: ServedContents {
    let title: String
    /// The name to advertise; `nil`: the file has none.
    let name: String?
    let appearance: UInt16
    private(set) var advertised: [BluetoothUUID] = []
    private(set) var services: [LocalService] = []
    /// What isn't served as the file describes it, in words.
    private(set) var notices: [String] = []
    /// The sources of the values that the server doesn't keep, by the characteristic's name.
    private(set) var sources: [String: ValueSource] = [:]
    /// The errors of reads that the device refused.
    private(set) var refusals: [String: ATTError] = [:]
    /// How the values of characteristics are sent, if they can be notified or indicated.
    private(set) var told: [String: Characteristic.Properties] = [:]

    private let access: AccessRequirement
    /// The number of characteristics of each type; those of the server's own services are already there.
    private var counts: [BluetoothUUID: Int] = Dictionary(
        uniqueKeysWithValues: [0x2A00, 0x2A01, 0x2A05, 0x2B29, 0x2B2A].map { (BluetoothUUID($0), 1) }
    )

    /// The server has these itself.
    private static let ownServices: [BluetoothUUID] = [.genericAccess, .genericAttribute]

    /// - Parameter access: the security that an attribute requires if the file doesn't say.
    init(_ file: DatabaseFile, title: String, access: AccessRequirement) throws {
        self.title = title
        self.access = access
        let copied = file.services.filter { $0.uuid == .genericAccess }.flatMap(\.characteristics)
        func octets(_ uuid: UInt16) -> [UInt8]? {
            let attribute = copied.map(\.attribute).first { $0.uuid == BluetoothUUID(uuid) }
            guard case .fixed(let octets)? = attribute?.value else { return nil }
            return octets
        }
        let name = file.name ?? octets(0x2A00).map { String(decoding: $0, as: UTF8.self) }
        if let own = file.name, !(1...248).contains(own.utf8.count) {
            throw Self.fault(["name"], "a name has 1 to 248 octets")
        }
        self.name = name.flatMap { (1...248).contains($0.utf8.count) ? $0 : nil }
        appearance =
            file.appearance
            ?? octets(0x2A01).map { $0.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) } } ?? 0
        let taken = [BluetoothUUID(0x2A00), BluetoothUUID(0x2A01)]
        let others = copied.map(\.attribute.uuid).filter { !taken.contains($0) }
        if !others.isEmpty {
            let list = others.map(\.description).joined(separator: ", ")
            notices.append(
                "of service 1800 only name and appearance are copied, not \(list), which describe a device's radio"
            )
        }
        try add(file)
        advertised = file.advertising?.map(\.uuid) ?? fitting
        if file.isEncrypted, !access.needsEncryption, file.showsUnmarked(except: Self.ownServices) {
            notices.append(
                "the values were read over an encrypted link, but the copy shows them to any central; pass --access "
                    + "encrypted, or \"access\" in the file"
            )
        }
    }

    /// The UUIDs of the first services, as many as every adapter can advertise.
    private var fitting: [BluetoothUUID] {
        var types: [BluetoothUUID] = []
        for type in services.filter(\.isPrimary).map(\.uuid) where !types.contains(type) {
            let fields: [AdvertisingData.Field] = [
                .flags([.generalDiscoverable, .classicNotSupported]), .services(types + [type]),
            ]
            guard (try? AdvertisingData(fields)) != nil else { break }
            types.append(type)
        }
        return types
    }

    private static func fault(_ path: [String], _ words: String) -> UsageError {
        UsageError((path + [words]).joined(separator: ": "))
    }

    // MARK: - Services

    private mutating func add(_ file: DatabaseFile) throws {
        let names = file.services.indices.map { "service \($0)" }
        for (index, entry) in file.services.enumerated() where !Self.ownServices.contains(entry.uuid) {
            var includes: [String] = []
            for (number, include) in entry.includes.enumerated() {
                let target = file.services.firstIndex { other in
                    other.uuid == include.uuid && (include.handle == nil || other.handle == include.handle)
                }
                guard let target, target != index, !Self.ownServices.contains(include.uuid) else {
                    throw Self.fault(
                        ["services[\(index)].includes[\(number)]"],
                        "there is no other service \(include.uuid) with this handle to include; remove it"
                    )
                }
                includes.append(names[target])
            }
            var characteristics: [LocalCharacteristic] = []
            for characteristic in entry.characteristics { characteristics.append(add(characteristic)) }
            services.append(
                LocalService(
                    entry.uuid,
                    isPrimary: entry.isPrimary,
                    includes: includes,
                    id: names[index],
                    characteristics: characteristics
                )
            )
        }
    }

    // MARK: - Characteristics

    private mutating func add(_ entry: CharacteristicEntry) -> LocalCharacteristic {
        let id = newName(for: entry.attribute.uuid)
        let access = entry.attribute.requirement ?? access
        var permissions = AttributePermissions(entry.properties, access: access)
        var value = LocalCharacteristic.Value.stored([])
        switch entry.attribute.value {
        case .fixed(let octets)?: value = .stored(octets)
        case let source?:
            sources[id] = source
            value = .dynamic
        case nil:
            switch entry.attribute.error {
            case .readNotPermitted?: permissions.read = nil
            case let error? where error.isOfItsOwn:
                refusals[id] = error
                value = .dynamic
            default: break
            }
            // When the device was copied, nobody could read this value.
            if entry.properties.tellsOnly {
                sources[id] = .counter
                value = .dynamic
            }
        }
        let told = entry.properties.intersection([.notify, .indicate])
        if !told.isEmpty { self.told[id] = told }
        var properties = entry.properties
        properties.remove(.extendedProperties)
        var characteristic = LocalCharacteristic(
            entry.attribute.uuid,
            properties,
            value: value,
            access: access,
            permissions: permissions,
            id: id
        )
        let extended = entry.extendedProperties
        characteristic.extendedProperties = extended
        characteristic.descriptors = entry.descriptors.filter { !$0.isAddedByItself }.map { descriptor in
            describe(descriptor, isWritable: extended.contains(.writableAuxiliaries))
        }
        return characteristic
    }

    private func describe(_ entry: AttributeEntry, isWritable: Bool) -> LocalDescriptor {
        let access = entry.requirement ?? access
        let isRefused = entry.error?.isOfItsOwn ?? false
        var octets: [UInt8] = []
        if case .fixed(let fixed)? = entry.value { octets = fixed }
        let isWritten = isWritable && entry.uuid == .characteristicUserDescription
        return LocalDescriptor(
            entry.uuid,
            value: .stored(octets),
            permissions: AttributePermissions(read: isRefused ? nil : access, write: isWritten ? access : nil)
        )
    }

    /// A name that no other characteristic has: the UUID, with a number if it isn't the first.
    private mutating func newName(for uuid: BluetoothUUID) -> String {
        counts[uuid, default: 0] += 1
        let count = counts[uuid, default: 1]
        return count == 1 ? "\(uuid)" : "\(uuid) #\(count)"
    }
}

extension DatabaseFile {
    /// Whether it has a value without a statement of the security that reading it requires.
    fileprivate func showsUnmarked(except own: [BluetoothUUID]) -> Bool {
        services.filter { !own.contains($0.uuid) }.flatMap(\.characteristics).contains {
            $0.properties.contains(.read) && $0.attribute.value != nil && $0.attribute.access == nil
        }
    }
}

extension Characteristic.Properties {
    /// Whether the value is only sent, and neither read nor written.
    fileprivate var tellsOnly: Bool {
        !isDisjoint(with: [.notify, .indicate]) && isDisjoint(with: [.read, .write, .writeWithoutResponse])
    }
}

extension ATTError {
    /// Whether it concerns the attribute, and not the client.
    fileprivate var isOfItsOwn: Bool { !isForWantOfSecurity && self != .insufficientAuthorization }

    /// Whether a more secure link would get another answer.
    var isForWantOfSecurity: Bool {
        switch self {
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort: true
        default: false
        }
    }
}

extension AttributeEntry {
    /// The security that the attribute requires, if the file or a refused read says so.
    fileprivate var requirement: AccessRequirement? {
        let needsSecurity = error?.isForWantOfSecurity ?? false
        let requirement = access ?? (needsSecurity ? .encrypted : nil)
        guard error == .insufficientAuthorization else { return requirement }
        return (requirement ?? .open).authorized
    }

    /// Whether the server adds this descriptor itself if the characteristic needs it.
    fileprivate var isAddedByItself: Bool {
        [.clientCharacteristicConfiguration, .characteristicExtendedProperties].contains(uuid)
    }
}

extension CharacteristicEntry {
    /// The contents of the Characteristic Extended Properties descriptor.
    fileprivate var extendedProperties: Characteristic.ExtendedProperties {
        let descriptor = descriptors.first { $0.uuid == .characteristicExtendedProperties }
        guard case .fixed(let octets)? = descriptor?.value,
            case .extendedProperties(let extended) = Descriptor.Value(.characteristicExtendedProperties, octets: octets)
        else { return [] }
        return extended
    }
}
