public import BLEStreams

/// The kind of a device, as it tells it (Assigned Numbers, 2.6).
public struct Appearance: RawRepresentable, Hashable, Sendable {
    /// The assigned number: the category in the upper ten bits, the kind within it in the lower six.
    public let rawValue: UInt16

    /// Makes an appearance from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

extension Appearance: CustomStringConvertible {
    /// Its name, as ``AssignedNumbers/appearance(_:)``: `Heart Rate Belt`; its number if it has none.
    public var description: String { AssignedNumbers.appearance(rawValue) ?? "\(rawValue)" }
}

extension CharacteristicKey where Self == TypedCharacteristic<Appearance> {
    /// Appearance, 2A01: read (Core Specification, volume 3, part C, 12.2).
    public static var appearance: Self {
        TypedCharacteristic(.Characteristics.appearance) { reader throws(MalformedValue) in
            Appearance(rawValue: try reader.uint16())
        } encode: { value, writer throws(MalformedValue) in
            writer.uint16(value.rawValue)
        }
    }
}
