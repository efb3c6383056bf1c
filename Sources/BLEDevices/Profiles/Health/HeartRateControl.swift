public import BLEStreams

/// A command to a heart-rate sensor (Heart Rate Service 1.0, 3.3).
public enum HeartRateControl: UInt8, Hashable, Sendable {
    /// Resets the energy spent to zero.
    case resetEnergyExpended = 1
}

extension CharacteristicKey where Self == TypedCharacteristic<HeartRateControl> {
    /// Heart Rate Control Point, 2A39: write-only.
    public static var heartRateControlPoint: Self { .choice(.Characteristics.heartRateControlPoint) }
}
