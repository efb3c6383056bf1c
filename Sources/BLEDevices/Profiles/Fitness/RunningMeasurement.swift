public import BLEStreams

/// A measurement of a foot pod (Running Speed and Cadence Service 1.0, 3.1).
public struct RunningMeasurement: Hashable, Sendable {
    /// Metres per second, in steps of 1/256.
    public var speed: Double
    /// Steps of one foot per minute.
    public var cadence: Int
    /// The length of a stride, in metres; `nil` if not reported.
    public var strideLength: Double?
    /// The distance so far, in metres; `nil` if not reported.
    public var distance: Double?
    /// Whether the wearer is running, not walking.
    public var isRunning: Bool

    /// Creates a measurement from its values.
    public init(
        speed: Double,
        cadence: Int,
        strideLength: Double? = nil,
        distance: Double? = nil,
        isRunning: Bool = false
    ) {
        (self.speed, self.cadence, self.strideLength) = (speed, cadence, strideLength)
        (self.distance, self.isRunning) = (distance, isRunning)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<RunningMeasurement> {
    /// RSC Measurement, 2A53: notified about once a second.
    public static var runningMeasurement: Self {
        TypedCharacteristic(.Characteristics.runningMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            return RunningMeasurement(
                speed: Double(try reader.uint16()) / 256,
                cadence: Int(try reader.uint8()),
                strideLength: try reader.uint16(if: flags[0]).map { Double($0) / 100 },
                distance: try reader.uint32(if: flags[1]).map { Double($0) / 10 },
                isRunning: flags[2]
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.strideLength != nil, 1: value.distance != nil, 2: value.isRunning,
            ])
            writer.uint8(flags.bits)
            try writer.put(value.speed, by: 256, as: UInt16.self, "the speed")
            try writer.put(value.cadence, as: UInt8.self, "the cadence")
            try writer.put(value.strideLength, by: 100, as: UInt16.self, "the length of a stride")
            try writer.put(value.distance, by: 10, as: UInt32.self, "the distance")
        }
    }
}
