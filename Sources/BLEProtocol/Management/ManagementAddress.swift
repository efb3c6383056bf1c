/// A device address in the management protocol: six octets, least significant first, and a type octet.
///
/// Unlike ``BluetoothAddress`` it can also name a device of classic Bluetooth (BR/EDR).
package struct ManagementAddress: Hashable, Sendable {
    /// The transport and kind of the address; unknown values are kept.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let classic = Kind(rawValue: 0)
        package static let lowEnergyPublic = Kind(rawValue: 1)
        package static let lowEnergyRandom = Kind(rawValue: 2)
    }

    /// The octets, most significant first, in the low 48 bits.
    package let rawValue: UInt64
    package let kind: Kind

    package init(rawValue: UInt64, kind: Kind) {
        self.rawValue = rawValue & 0xFFFF_FFFF_FFFF
        self.kind = kind
    }

    package init(_ address: BluetoothAddress) {
        self.init(rawValue: address.rawValue, kind: address.kind == .public ? .lowEnergyPublic : .lowEnergyRandom)
    }

    /// All octets zero, type zero: in Remove Device it means every device.
    package static let any = ManagementAddress(rawValue: 0, kind: .classic)

    /// The address of a Low Energy device; `nil` for one of classic Bluetooth or of an unknown type.
    package var lowEnergy: BluetoothAddress? {
        switch kind {
        case .lowEnergyPublic: BluetoothAddress(rawValue: rawValue, kind: .public)
        case .lowEnergyRandom: BluetoothAddress(rawValue: rawValue, kind: .random)
        default: nil
        }
    }
}

extension ManagementAddress: CustomStringConvertible {
    package var description: String {
        if let lowEnergy { return lowEnergy.descriptionWithKind }
        let octets = BluetoothAddress(rawValue: rawValue, kind: .public)
        return kind == .classic ? "\(octets) (Bluetooth Classic)" : "\(octets)/type \(kind.rawValue)"
    }
}

extension ByteWriter {
    /// Appends the low 48 bits of a device address, least significant octet first.
    package mutating func deviceAddress(_ value: UInt64) {
        uint32(UInt32(truncatingIfNeeded: value))
        uint16(UInt16(truncatingIfNeeded: value >> 32))
    }

    /// Appends an address and its type, seven octets.
    package mutating func managementAddress(_ address: ManagementAddress) {
        deviceAddress(address.rawValue)
        uint8(address.kind.rawValue)
    }
}
