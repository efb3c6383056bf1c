public import BLEStreams

/// A measurement of an indoor bike (Fitness Machine Service 1.0, 4.9).
///
/// A machine with more fields than fit in one notification sends several, each with some of them; the last one of a
/// record has the speed.
public struct IndoorBikeData: Hashable, Sendable {
    /// Kilometres per hour; `nil` in all notifications of a record but the last.
    public var speed: Double?
    /// The average speed, in kilometres per hour.
    public var averageSpeed: Double?
    /// Revolutions per minute.
    public var cadence: Double?
    /// The average cadence.
    public var averageCadence: Double?
    /// Metres, since the session began.
    public var distance: Int?
    /// The resistance, without a unit.
    public var resistance: Int?
    /// Watts.
    public var power: Int?
    /// The average power, in watts.
    public var averagePower: Int?
    /// The energy spent.
    public var energy: ExpendedEnergy?
    /// Beats per minute.
    public var heartRate: Int?
    /// Metabolic equivalents.
    public var metabolicEquivalent: Double?
    /// Since the session began, in seconds.
    public var elapsed: Int?
    /// Until the session ends, in seconds.
    public var remaining: Int?

    /// Creates an empty record, for fields to be set.
    public init() {}
}

extension CharacteristicKey where Self == TypedCharacteristic<IndoorBikeData> {
    /// Indoor Bike Data, 2AD2: notified about once a second.
    public static var indoorBikeData: Self {
        TypedCharacteristic(BluetoothUUID(0x2AD2)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint16())
            var value = IndoorBikeData()
            // The bit is "more data": the speed is present if it is not set.
            value.speed = try reader.uint16(if: !flags[0]).map { Double($0) / 100 }
            value.averageSpeed = try reader.uint16(if: flags[1]).map { Double($0) / 100 }
            value.cadence = try reader.uint16(if: flags[2]).map { Double($0) / 2 }
            value.averageCadence = try reader.uint16(if: flags[3]).map { Double($0) / 2 }
            value.distance = try reader.uint24(if: flags[4])
            value.resistance = try reader.int16(if: flags[5])
            value.power = try reader.int16(if: flags[6])
            value.averagePower = try reader.int16(if: flags[7])
            value.energy = try reader.energy(if: flags[8])
            value.heartRate = try reader.uint8(if: flags[9])
            value.metabolicEquivalent = try reader.uint8(if: flags[10]).map { Double($0) / 10 }
            value.elapsed = try reader.uint16(if: flags[11])
            value.remaining = try reader.uint16(if: flags[12])
            return value
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt16> = Flags([
                0: value.speed == nil, 1: value.averageSpeed != nil, 2: value.cadence != nil,
                3: value.averageCadence != nil, 4: value.distance != nil, 5: value.resistance != nil,
                6: value.power != nil, 7: value.averagePower != nil, 8: value.energy != nil, 9: value.heartRate != nil,
                10: value.metabolicEquivalent != nil, 11: value.elapsed != nil, 12: value.remaining != nil,
            ])
            writer.uint16(flags.bits)
            try writer.put(value.speed, by: 100, as: UInt16.self, "the speed")
            try writer.put(value.averageSpeed, by: 100, as: UInt16.self, "the average speed")
            try writer.put(value.cadence, by: 2, as: UInt16.self, "the cadence")
            try writer.put(value.averageCadence, by: 2, as: UInt16.self, "the average cadence")
            try writer.put24(value.distance, "the distance")
            try writer.put(value.resistance, as: Int16.self, "the resistance")
            try writer.put(value.power, as: Int16.self, "the power")
            try writer.put(value.averagePower, as: Int16.self, "the average power")
            try writer.put(value.energy)
            try writer.put(value.heartRate, as: UInt8.self, "the heart rate")
            try writer.put(value.metabolicEquivalent, by: 10, as: UInt8.self, "the metabolic equivalent")
            try writer.put(value.elapsed, as: UInt16.self, "the elapsed time")
            try writer.put(value.remaining, as: UInt16.self, "the remaining time")
        }
    }
}
