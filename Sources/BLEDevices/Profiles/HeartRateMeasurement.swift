public import BLEProtocol
public import BLEStreams

/// A measurement of a heart-rate sensor (Heart Rate Service 1.0, 3.1).
public struct HeartRateMeasurement: Hashable, Sendable {
    /// The heart rate, in beats per minute.
    public var beatsPerMinute: Int

    /// Whether the sensor has skin contact; `nil` if it can't detect that.
    public var hasContact: Bool?

    /// The energy spent since the sensor was reset, in kilojoules.
    public var energyExpended: Int?

    /// The times between beats, oldest first, in steps of 1/1024 s.
    public var intervals: [Duration]

    /// The time of reception.
    public var time: ReceptionTime
}

extension CharacteristicKey where Self == TypedCharacteristic<HeartRateMeasurement> {
    /// Heart Rate Measurement, 2A37: notified about once a second.
    public static var heartRateMeasurement: Self {
        TypedCharacteristic(BluetoothUUID(0x2A37)) { reader throws(MalformedValue) in
            let flags = try reader.uint8()
            let beats = flags & 0x01 == 0 ? Int(try reader.uint8()) : Int(try reader.uint16())
            let energy = flags & 0x08 == 0 ? nil : Int(try reader.uint16())
            var intervals: [Duration] = []
            while flags & 0x10 != 0, !reader.isAtEnd {
                intervals.append(.seconds(1) * Int(try reader.uint16()) / 1024)
            }
            return HeartRateMeasurement(
                beatsPerMinute: beats,
                hasContact: flags & 0x04 == 0 ? nil : flags & 0x02 != 0,
                energyExpended: energy,
                intervals: intervals,
                time: reader.time
            )
        }
    }
}
