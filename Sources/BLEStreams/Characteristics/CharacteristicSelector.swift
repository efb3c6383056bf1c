package import BLEProtocol

/// How the caller named a characteristic.
@usableFromInline
package enum CharacteristicSelector: Hashable, Sendable {
    /// The first one of this type, in the given service or in any.
    case uuid(BluetoothUUID, service: BluetoothUUID?)
    /// The one whose value has this handle.
    case handle(UInt16)
    /// This one, as discovered; with another layout it is a different one.
    case exactly(Characteristic)
    /// The one of this program's own peripheral with this ``LocalCharacteristic/id``; a connected peripheral has none.
    case id(String)
}

extension CharacteristicSelector: CustomStringConvertible {
    @usableFromInline package var description: String {
        switch self {
        case .uuid(let uuid, service: nil): "\(uuid)"
        case .uuid(let uuid, service: let service?): "\(uuid) in service \(service)"
        case .handle(let handle): "handle \(handle.hexadecimal)"
        case .exactly(let characteristic): "\(characteristic.uuid) at \(characteristic.valueHandle.hexadecimal)"
        case .id(let id): id
        }
    }
}
