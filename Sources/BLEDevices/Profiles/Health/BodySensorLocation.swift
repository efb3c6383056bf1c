public import BLEStreams

/// Where a heart-rate sensor is worn (Heart Rate Service 1.0, 3.2).
public enum BodySensorLocation: UInt8, Hashable, Sendable {
    /// Elsewhere.
    case other = 0
    /// On the chest, as a strap.
    case chest
    /// At the wrist.
    case wrist
    /// On a finger.
    case finger
    /// On a hand.
    case hand
    /// At an ear lobe.
    case earLobe
    /// On a foot.
    case foot
}

extension CharacteristicKey where Self == TypedCharacteristic<BodySensorLocation> {
    /// Body Sensor Location, 2A38.
    public static var bodySensorLocation: Self { .choice(.Characteristics.bodySensorLocation) }
}
