public import BLEProtocol

/// Notifications or indications that a session keeps switched on.
public struct SessionSubscription: Hashable, Sendable {
    /// How the characteristic is found.
    let selector: CharacteristicSelector

    /// Whether indications are preferred where the characteristic has both.
    public let indications: Bool

    /// Those of a characteristic.
    ///
    /// - Parameters:
    ///   - uuid: its type; where the peripheral has several of it, the first one.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - indications: whether indications are preferred where the characteristic has both.
    public init(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil, indications: Bool = false) {
        selector = .uuid(uuid, service: service)
        self.indications = indications
    }

    /// Those of the characteristic whose value has this handle.
    public init(handle: UInt16, indications: Bool = false) {
        selector = .handle(handle)
        self.indications = indications
    }

    /// The characteristic's type; `nil` where it was named by its handle.
    public var uuid: BluetoothUUID? {
        if case .uuid(let uuid, _) = selector { uuid } else { nil }
    }
}

extension SessionSubscription: CustomStringConvertible {
    /// The characteristic: `2A37`, `2A37 in service 180D` or `handle 0x0012`.
    public var description: String { "\(selector)" }
}
