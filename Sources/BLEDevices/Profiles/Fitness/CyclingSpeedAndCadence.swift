public import BLEStreams

/// A measurement of a cycling sensor (Cycling Speed and Cadence Service 1.0, 3.1).
public struct CyclingMeasurement: Hashable, Sendable {
    /// A count of revolutions, and when the last one was complete.
    public struct Revolutions: Hashable, Sendable {
        /// The count; it wraps at 2³² for a wheel, at 2¹⁶ for a crank.
        public var count: Int
        /// When the last one was complete, in 1/1024 s (a power meter's wheel: 1/2048 s); wraps at 2¹⁶.
        public var eventTime: UInt16

        /// Creates a value from its parts.
        public init(count: Int, eventTime: UInt16) { (self.count, self.eventTime) = (count, eventTime) }

        /// Revolutions per second since an earlier value; `nil` if none has been completed since. Negative if the count
        /// went back, as when the bicycle is rolled backwards. The first rate after a sensor has begun its count anew
        /// means nothing, and may have either sign.
        ///
        /// - Parameters:
        ///   - earlier: a value of the same sensor, at most 64 s older (32 s with 2,048 steps): the time wraps then.
        ///   - countBits: the width of the count: 32 bits for a wheel, 16 for a crank.
        ///   - stepsPerSecond: the unit of the time.
        public func rate(since earlier: Revolutions, countBits: Int, stepsPerSecond: Double = 1024) -> Double? {
            let steps = eventTime &- earlier.eventTime
            guard steps != 0 else { return nil }
            let range = 1 << countBits
            let more = (count - earlier.count) & (range - 1)
            // Nothing turns so often before the time wraps: more than half of the range is back, not forth.
            let turns = more > range / 2 ? more - range : more
            return Double(turns) * stepsPerSecond / Double(steps)
        }
    }

    /// The revolutions of the wheel; `nil` if the sensor does not count them.
    public var wheel: Revolutions?
    /// The revolutions of the crank; `nil` if the sensor does not count them.
    public var crank: Revolutions?

    /// Creates a measurement from its values.
    public init(wheel: Revolutions? = nil, crank: Revolutions? = nil) { (self.wheel, self.crank) = (wheel, crank) }

    /// Metres per second since an earlier value; `nil` if the wheel stood still. Negative if it turned backwards: see
    /// ``CyclingMeasurement/Revolutions/rate(since:countBits:stepsPerSecond:)``.
    public func speed(since earlier: CyclingMeasurement, circumference metres: Double) -> Double? {
        guard let wheel, let before = earlier.wheel else { return nil }
        return wheel.rate(since: before, countBits: 32).map { $0 * metres }
    }

    /// Revolutions of the crank per minute since an earlier value; `nil` if it stood still. Negative if its count went
    /// back: see ``CyclingMeasurement/Revolutions/rate(since:countBits:stepsPerSecond:)``.
    public func cadence(since earlier: CyclingMeasurement) -> Double? {
        guard let crank, let before = earlier.crank else { return nil }
        return crank.rate(since: before, countBits: 16).map { $0 * 60 }
    }
}

extension ValueReader {
    mutating func wheel(if isThere: Bool) throws(MalformedValue) -> CyclingMeasurement.Revolutions? {
        guard isThere else { return nil }
        let count = Int(try uint32())
        return CyclingMeasurement.Revolutions(count: count, eventTime: try uint16())
    }

    mutating func crank(if isThere: Bool) throws(MalformedValue) -> CyclingMeasurement.Revolutions? {
        guard isThere else { return nil }
        let count = Int(try uint16())
        return CyclingMeasurement.Revolutions(count: count, eventTime: try uint16())
    }
}

extension ValueWriter {
    mutating func putWheel(_ wheel: CyclingMeasurement.Revolutions?) throws(MalformedValue) {
        try put(wheel?.count, as: UInt32.self, "the revolutions of the wheel")
        if let wheel { uint16(wheel.eventTime) }
    }

    mutating func putCrank(_ crank: CyclingMeasurement.Revolutions?) throws(MalformedValue) {
        try put(crank?.count, as: UInt16.self, "the revolutions of the crank")
        if let crank { uint16(crank.eventTime) }
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingMeasurement> {
    /// CSC Measurement, 2A5B: notified about once a second.
    public static var cyclingMeasurement: Self {
        TypedCharacteristic(.Characteristics.cyclingMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            return CyclingMeasurement(
                wheel: try reader.wheel(if: flags[0]),
                crank: try reader.crank(if: flags[1])
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([0: value.wheel != nil, 1: value.crank != nil])
            writer.uint8(flags.bits)
            try writer.putWheel(value.wheel)
            try writer.putCrank(value.crank)
        }
    }
}
