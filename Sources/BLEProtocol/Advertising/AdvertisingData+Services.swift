extension AdvertisingData {
    /// Data that an advertisement carries for one service.
    public struct ServiceData: Hashable, Sendable {
        /// The service.
        public let service: BluetoothUUID
        /// The octets, in the service's own format.
        public let data: ArraySlice<UInt8>
    }

    /// The services that the device lists, each once, in the order of the advertisement.
    ///
    /// Complete and incomplete lists of all widths are combined. Octets at the end of a list that are too few for a
    /// UUID are ignored.
    public var serviceUUIDs: [BluetoothUUID] {
        uuids { $0.listedServiceWidth }
    }

    /// Whether the device marks one of its lists as incomplete.
    public var hasIncompleteServices: Bool {
        contains {
            $0.type == .incompleteServices16 || $0.type == .incompleteServices32 || $0.type == .incompleteServices128
        }
    }

    /// Whether the device lists a service; allocates nothing.
    public func lists(_ service: BluetoothUUID) -> Bool {
        for (type, data) in self {
            guard let width = type.listedServiceWidth else { continue }
            var rest = data
            while rest.count >= width {
                if BluetoothUUID(littleEndian: rest.prefix(width)) == service { return true }
                rest.removeFirst(width)
            }
        }
        return false
    }

    /// The services that the device looks for on others, each once, in the order of the advertisement.
    public var solicitedServiceUUIDs: [BluetoothUUID] {
        uuids { $0.solicitedServiceWidth }
    }

    /// The service data, in the order of the advertisement.
    public var serviceData: [ServiceData] {
        compactMap { type, data in Self.serviceData(type, data) }
    }

    /// The data of one service, from its first structure; allocates nothing.
    public func serviceData(for service: BluetoothUUID) -> ArraySlice<UInt8>? {
        for (type, data) in self {
            if let found = Self.serviceData(type, data), found.service == service { return found.data }
        }
        return nil
    }

    private static func serviceData(_ type: AdvertisingData.FieldType, _ data: ArraySlice<UInt8>) -> ServiceData? {
        guard let width = type.serviceDataWidth, data.count >= width,
            let service = BluetoothUUID(littleEndian: data.prefix(width))
        else { return nil }
        return ServiceData(service: service, data: data.dropFirst(width))
    }

    private func uuids(_ width: (AdvertisingData.FieldType) -> Int?) -> [BluetoothUUID] {
        var found: [BluetoothUUID] = []
        for (type, data) in self {
            guard let width = width(type) else { continue }
            var rest = data
            while rest.count >= width, let uuid = BluetoothUUID(littleEndian: rest.prefix(width)) {
                if !found.contains(uuid) { found.append(uuid) }
                rest.removeFirst(width)
            }
        }
        return found
    }
}

extension AdvertisingData.FieldType {
    /// How many octets a UUID has in a list of services; `nil` for another type.
    var listedServiceWidth: Int? {
        switch self {
        case .incompleteServices16, .completeServices16: 2
        case .incompleteServices32, .completeServices32: 4
        case .incompleteServices128, .completeServices128: 16
        default: nil
        }
    }

    /// How many octets a UUID has in a list of services that the device looks for; `nil` for another type.
    var solicitedServiceWidth: Int? {
        switch self {
        case .solicitedServices16: 2
        case .solicitedServices32: 4
        case .solicitedServices128: 16
        default: nil
        }
    }

    /// How many octets the UUID has in front of service data; `nil` for another type.
    var serviceDataWidth: Int? {
        switch self {
        case .serviceData16: 2
        case .serviceData32: 4
        case .serviceData128: 16
        default: nil
        }
    }
}
