public import BLEProtocol

/// Identifies a characteristic: by its UUID and optionally its service, by its handle, as it was discovered, or by the
/// identifier that this program gave its own.
///
/// It is also a key whose value is octets: `link.read(.uuid(uuid, in: service))`,
/// `link.notifications(of: .handle(0x12))`.
public struct CharacteristicReference: Hashable, Sendable {
    @usableFromInline let selector: CharacteristicSelector

    init(_ selector: CharacteristicSelector) { self.selector = selector }

    /// The characteristic's type; `nil` if it is identified by its handle or its ``LocalCharacteristic/id``.
    public var uuid: BluetoothUUID? {
        switch selector {
        case .uuid(let uuid, _): uuid
        case .exactly(let characteristic): characteristic.uuid
        case .handle, .id: nil
        }
    }

    /// The handle of the characteristic's value; `nil` if it is identified otherwise.
    public var handle: UInt16? {
        switch selector {
        case .uuid, .id: nil
        case .exactly(let characteristic): characteristic.valueHandle
        case .handle(let handle): handle
        }
    }
}

extension CharacteristicReference: CustomStringConvertible {
    /// The characteristic: `2A37`, `2A37 in service 180D` or `handle 0x0012`.
    public var description: String { "\(selector)" }
}

extension CharacteristicReference: CharacteristicKey {
    public var reference: CharacteristicReference { self }
}

extension CharacteristicKey where Self == CharacteristicReference {
    /// The first characteristic of a type, in the given service or in any.
    public static func uuid(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil) -> Self {
        CharacteristicReference(.uuid(uuid, service: service))
    }

    /// The characteristic whose value has this handle. It is read and written without discovery and without checking
    /// its properties, so this can name any attribute, including a descriptor.
    public static func handle(_ handle: UInt16) -> Self { CharacteristicReference(.handle(handle)) }

    /// The characteristic of this program's own peripheral with this ``LocalCharacteristic/id``, for a
    /// ``PeripheralServer``: `server.notify([1], of: .id("left level"))`. On a link, no characteristic is found by it.
    public static func id(_ id: String) -> Self { CharacteristicReference(.id(id)) }
}
