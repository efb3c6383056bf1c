public import BLEStreams

/// What a fitness machine's user is doing (Fitness Machine Service 1.0, 4.10).
public struct TrainingStatus: Hashable, Sendable {
    /// A part of a training; unknown numbers are preserved.
    public struct Part: RawRepresentable, Hashable, Sendable {
        /// The number on air.
        public let rawValue: UInt8

        /// Makes a part from its number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Something else.
        public static let other = Part(rawValue: 0x00)
        /// Nothing.
        public static let idle = Part(rawValue: 0x01)
        /// Warming up.
        public static let warmingUp = Part(rawValue: 0x02)
        /// An interval of low intensity.
        public static let lowIntensity = Part(rawValue: 0x03)
        /// An interval of high intensity.
        public static let highIntensity = Part(rawValue: 0x04)
        /// An interval of recovery.
        public static let recovery = Part(rawValue: 0x05)
        /// Isometric training.
        public static let isometric = Part(rawValue: 0x06)
        /// Training at a heart rate.
        public static let heartRateControl = Part(rawValue: 0x07)
        /// A fitness test.
        public static let fitnessTest = Part(rawValue: 0x08)
        /// Slower than the range of the training.
        public static let tooSlow = Part(rawValue: 0x09)
        /// Faster than the range of the training.
        public static let tooFast = Part(rawValue: 0x0A)
        /// Cooling down.
        public static let coolingDown = Part(rawValue: 0x0B)
        /// Training at a power.
        public static let powerControl = Part(rawValue: 0x0C)
        /// A session without a programme.
        public static let manual = Part(rawValue: 0x0D)
        /// Before the workout.
        public static let before = Part(rawValue: 0x0E)
        /// After the workout.
        public static let after = Part(rawValue: 0x0F)
    }

    /// The part of the training.
    public var part: Part
    /// The machine's own words for it; `nil` if there are none.
    public var text: String?
    /// Whether the text goes on beyond what fits in a notification: read the characteristic for the whole.
    public var isTextCut: Bool

    /// Creates a value from its parts.
    public init(part: Part, text: String? = nil, isTextCut: Bool = false) {
        (self.part, self.text, self.isTextCut) = (part, text, isTextCut)
    }
}

extension TrainingStatus.Part: CustomStringConvertible {
    /// The name, as `warming up`; the number if it is reserved.
    public var description: String {
        let names = [
            "other", "idle", "warming up", "low intensity", "high intensity", "recovery", "isometric",
            "heart rate control", "fitness test", "too slow", "too fast", "cooling down", "power control", "manual",
            "before the workout", "after the workout",
        ]
        return Int(rawValue) < names.count ? names[Int(rawValue)] : "\(rawValue)"
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<TrainingStatus> {
    /// Training Status, 2AD3: read and notified.
    public static var trainingStatus: Self {
        TypedCharacteristic(BluetoothUUID(0x2AD3)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            let part = TrainingStatus.Part(rawValue: try reader.uint8())
            let text = flags[0] || flags[1] ? try reader.text(isCut: flags[1]) : nil
            return TrainingStatus(part: part, text: text, isTextCut: flags[1])
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([0: value.text != nil, 1: value.isTextCut])
            writer.uint8(flags.bits)
            writer.uint8(value.part.rawValue)
            writer.bytes(Array((value.text ?? "").utf8))
        }
    }
}
