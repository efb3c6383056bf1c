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

    /// The time of reception. It isn't part of what is sent.
    public var time: ReceptionTime

    /// Creates a measurement from its values; one that is to be sent needs no time.
    public init(
        _ beatsPerMinute: Int,
        hasContact: Bool? = nil,
        energyExpended: Int? = nil,
        intervals: [Duration] = [],
        time: ReceptionTime = ReceptionTime(sinceEpoch: .zero, source: .reading)
    ) {
        (self.beatsPerMinute, self.hasContact, self.energyExpended) = (beatsPerMinute, hasContact, energyExpended)
        (self.intervals, self.time) = (intervals, time)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<HeartRateMeasurement> {
    /// Heart Rate Measurement, 2A37: notified about once a second.
    public static var heartRateMeasurement: Self {
        TypedCharacteristic(.Characteristics.heartRateMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            let beats = flags[0] ? Int(try reader.uint16()) : Int(try reader.uint8())
            let energy = try reader.uint16(if: flags[3]).map { Int($0) }
            var intervals: [Duration] = []
            while flags[4], !reader.isAtEnd { intervals.append(step * Int(try reader.uint16())) }
            return HeartRateMeasurement(
                beats,
                hasContact: flags[2] ? flags[1] : nil,
                energyExpended: energy,
                intervals: intervals,
                time: reader.time
            )
        } encode: { value, writer throws(MalformedValue) in
            let isLong = value.beatsPerMinute > UInt8.max
            let flags: Flags<UInt8> = Flags([
                0: isLong, 1: value.hasContact == true, 2: value.hasContact != nil, 3: value.energyExpended != nil,
                4: !value.intervals.isEmpty,
            ])
            writer.uint8(flags.bits)
            if isLong {
                try writer.put(value.beatsPerMinute, as: UInt16.self, "the heart rate")
            } else {
                try writer.put(value.beatsPerMinute, as: UInt8.self, "the heart rate")
            }
            try writer.put(value.energyExpended, as: UInt16.self, "the energy")
            for interval in value.intervals {
                try writer.put(interval / step, by: 1, as: UInt16.self, "the interval in steps of 1/1024 s")
            }
        }
    }
}

/// The unit of the times between beats: 1/1024 s.
private let step = Duration.seconds(1) / 1024
