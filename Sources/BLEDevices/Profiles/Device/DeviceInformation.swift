public import BLEStreams

// The Device Information Service 1.1: a device's manufacturer and versions.

extension CharacteristicKey where Self == TypedCharacteristic<String> {
    /// Manufacturer Name String, 2A29.
    public static var manufacturerName: Self { .text(.Characteristics.manufacturerName) }
    /// Model Number String, 2A24.
    public static var modelNumber: Self { .text(.Characteristics.modelNumber) }
    /// Serial Number String, 2A25.
    public static var serialNumber: Self { .text(.Characteristics.serialNumber) }
    /// Hardware Revision String, 2A27.
    public static var hardwareRevision: Self { .text(.Characteristics.hardwareRevision) }
    /// Firmware Revision String, 2A26.
    public static var firmwareRevision: Self { .text(.Characteristics.firmwareRevision) }
    /// Software Revision String, 2A28.
    public static var softwareRevision: Self { .text(.Characteristics.softwareRevision) }

    /// A characteristic whose value is text in UTF-8.
    ///
    /// Trailing zero octets are dropped: some devices pad their strings with them.
    public static func text(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil) -> Self {
        TypedCharacteristic(uuid, in: service) { reader throws(MalformedValue) in
            try reader.text()
        } encode: { text, writer throws(MalformedValue) in
            writer.bytes(text.utf8)
        }
    }
}

/// A device's vendor and product numbers (Device Information Service 1.1, PnP ID).
public struct PnPID: Hashable, Sendable {
    /// The registry that assigns vendor numbers.
    public enum Registry: UInt8, Hashable, Sendable {
        /// The Bluetooth SIG: a company identifier.
        case bluetooth = 1
        /// The USB Implementer's Forum.
        case usb = 2
    }

    /// The registry of the vendor's number; `nil` for a reserved value.
    public var registry: Registry?
    /// The vendor's number.
    public var vendor: UInt16
    /// The product's number, assigned by the vendor.
    public var product: UInt16
    /// The version: `0x0213` is 2.1.3.
    public var version: UInt16

    /// Creates a product from its values.
    public init(registry: Registry?, vendor: UInt16, product: UInt16, version: UInt16) {
        (self.registry, self.vendor, self.product, self.version) = (registry, vendor, product, version)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<PnPID> {
    /// PnP ID, 2A50.
    public static var pnpID: Self {
        TypedCharacteristic(.Characteristics.pnpID) { reader throws(MalformedValue) in
            PnPID(
                registry: PnPID.Registry(rawValue: try reader.uint8()),
                vendor: try reader.uint16(),
                product: try reader.uint16(),
                version: try reader.uint16()
            )
        } encode: { id, writer throws(MalformedValue) in
            guard let registry = id.registry else {
                throw MalformedValue("a vendor number without a registry can't be encoded")
            }
            writer.uint8(registry.rawValue)
            writer.uint16(id.vendor)
            writer.uint16(id.product)
            writer.uint16(id.version)
        }
    }
}

/// A device's unique identifier (Device Information Service 1.1, System ID).
public struct SystemID: Hashable, Sendable {
    /// The part that the manufacturer assigns: 40 bits.
    public var manufacturerIdentifier: UInt64
    /// The manufacturer's organizationally unique identifier: 24 bits.
    public var organization: UInt32

    /// Creates an identifier from both parts; higher bits are dropped.
    public init(manufacturerIdentifier: UInt64, organization: UInt32) {
        self.manufacturerIdentifier = manufacturerIdentifier & 0xFF_FFFF_FFFF
        self.organization = organization & 0xFF_FFFF
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<SystemID> {
    /// System ID, 2A23.
    public static var systemID: Self {
        TypedCharacteristic(.Characteristics.systemID) { reader throws(MalformedValue) in
            let low = UInt64(try reader.uint32())
            let high = UInt64(try reader.uint8())
            return SystemID(manufacturerIdentifier: low | high << 32, organization: try reader.uint24())
        } encode: { id, writer throws(MalformedValue) in
            writer.uint32(UInt32(truncatingIfNeeded: id.manufacturerIdentifier))
            writer.uint8(UInt8(truncatingIfNeeded: id.manufacturerIdentifier >> 32))
            writer.uint24(id.organization)
        }
    }
}
