/// A service that this device offers.
///
/// ```swift
/// LocalService(BluetoothUUID(0x180D)) {
///     LocalCharacteristic(BluetoothUUID(0x2A37), [.notify])
///     LocalCharacteristic(BluetoothUUID(0x2A38), [.read], value: .stored([1]))
/// }
/// ```
///
/// Source: Core Specification, Vol 3, Part G, 3.1.
public struct LocalService: Hashable, Sendable, Identifiable {
    /// The name by which other services include it; by default the UUID's text.
    ///
    /// Set it if the same UUID occurs more than once. Clients never see it.
    public var id: String

    /// The service's type.
    public var uuid: BluetoothUUID

    /// Whether clients find the service directly, or only through a service that includes it.
    public var isPrimary: Bool

    /// The services that this one includes, by their ``id``.
    public var includes: [String]

    /// Its characteristics, in the order in which clients find them.
    public var characteristics: [LocalCharacteristic]

    /// Declares a service, with its characteristics in a builder block.
    ///
    /// - Parameters:
    ///   - uuid: the service's type.
    ///   - isPrimary: whether clients find it directly, or only through a service that includes it.
    ///   - includes: the ``id`` of each service that it includes; such a service may come before or after it.
    ///   - id: the name by which other services include it; by default the UUID's text.
    ///   - characteristics: its characteristics.
    public init(
        _ uuid: BluetoothUUID,
        isPrimary: Bool = true,
        includes: [String] = [],
        id: String? = nil,
        @ListBuilder<LocalCharacteristic> characteristics: () -> [LocalCharacteristic] = { [] }
    ) {
        self.init(uuid, isPrimary: isPrimary, includes: includes, id: id, characteristics: characteristics())
    }

    /// Declares a service, with its characteristics in an array.
    public init(
        _ uuid: BluetoothUUID,
        isPrimary: Bool = true,
        includes: [String] = [],
        id: String? = nil,
        characteristics: [LocalCharacteristic]
    ) {
        self.id = id ?? uuid.description
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includes = includes
        self.characteristics = characteristics
    }
}
