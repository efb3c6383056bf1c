public import BLEStreams

/// The commands to a power meter, and its answers (Cycling Power Service 1.1, 3.7).
///
/// ```swift
/// try await link.perform(.setCrankLength(172.5), on: .cyclingPowerControlPoint)
/// try await link.perform(.compensateOffset, on: .cyclingPowerControlPoint)    // with unloaded pedals
/// ```
///
/// ``CyclingPowerFeatures`` says which of them the meter supports.
public enum CyclingPowerControl: Hashable, Sendable {
    /// Fields of ``CyclingPowerMeasurement`` that can be turned off. Bits that are reserved are preserved.
    public struct Fields: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        /// The share of one pedal.
        public static let balance = Fields(rawValue: 1 << 0)
        /// The accumulated torque.
        public static let torque = Fields(rawValue: 1 << 1)
        /// The revolutions of the wheel.
        public static let wheel = Fields(rawValue: 1 << 2)
        /// The revolutions of the crank.
        public static let crank = Fields(rawValue: 1 << 3)
        /// The extremes of force or torque.
        public static let extremes = Fields(rawValue: 1 << 4)
        /// The crank angles of the extremes.
        public static let angles = Fields(rawValue: 1 << 5)
        /// The angle of the top dead spot.
        public static let topDeadSpot = Fields(rawValue: 1 << 6)
        /// The angle of the bottom dead spot.
        public static let bottomDeadSpot = Fields(rawValue: 1 << 7)
        /// The energy so far.
        public static let energy = Fields(rawValue: 1 << 8)

        /// The names of what is in it, as `wheel, energy`; empty if nothing is.
        public var description: String {
            named([
                "balance", "torque", "wheel", "crank", "extremes", "angles", "top dead spot", "bottom dead spot",
                "energy",
            ])
        }
    }

    /// Sets the number of the wheel's revolutions so far.
    case setWheelRevolutions(Int)
    /// Tells the meter where it is.
    case setLocation(SensorLocation)
    /// Requests where the meter can be.
    case requestLocations
    /// Sets the length of the crank in millimetres, in steps of 0.5.
    case setCrankLength(Double)
    /// Requests the length of the crank.
    case requestCrankLength
    /// Sets the length of the chain in millimetres.
    case setChainLength(Int)
    /// Requests the length of the chain.
    case requestChainLength
    /// Sets the weight of the chain in grams.
    case setChainWeight(Int)
    /// Requests the weight of the chain.
    case requestChainWeight
    /// Sets the span in millimetres: the distance between the axes of the crank and of the rear wheel.
    case setSpanLength(Int)
    /// Requests the span.
    case requestSpanLength
    /// Sets the meter to zero. The rider must not load the pedals; the crank must have the position that the maker
    /// tells.
    case compensateOffset
    /// Turns fields of the measurements off; those that aren't named are turned on again.
    case omit(Fields)
    /// Requests how often the meter samples.
    case requestSamplingRate
    /// Requests when the meter was calibrated in the factory.
    case requestCalibrationDate
    /// As ``compensateOffset``; the answer may have more of the maker.
    case compensateOffsetEnhanced
    /// The meter's answer to the command with a number.
    case response(to: UInt8, ControlPointOutcome, Answer?)
    /// Another command, with its parameters.
    case other(UInt8, [UInt8])
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingPowerControl> {
    /// Cycling Power Control Point, 2A66: written and indicated.
    public static var cyclingPowerControlPoint: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2A66),
            decode: CyclingPowerControl.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension CyclingPowerControl: ControlPointCommand {
    public func result(of command: CyclingPowerControl) -> ControlPointResult? {
        guard case .response(command.number, let outcome, let answer) = self else { return nil }
        guard outcome == .failed, case .compensationFailure(let reason, _) = answer else { return outcome.result }
        return .failure(reason == 1 ? "failed: the crank is in the wrong position" : "failed: the maker's reason")
    }

    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .setWheelRevolutions(Int(try reader.uint32()))
        case 0x02: self = .setLocation(try reader.choice())
        case 0x03: self = .requestLocations
        case 0x04: self = .setCrankLength(Double(try reader.uint16()) / 2)
        case 0x05: self = .requestCrankLength
        case 0x06: self = .setChainLength(Int(try reader.uint16()))
        case 0x07: self = .requestChainLength
        case 0x08: self = .setChainWeight(Int(try reader.uint16()))
        case 0x09: self = .requestChainWeight
        case 0x0A: self = .setSpanLength(Int(try reader.uint16()))
        case 0x0B: self = .requestSpanLength
        case 0x0C: self = .compensateOffset
        case 0x0D: self = .omit(Fields(rawValue: try reader.uint16()))
        case 0x0E: self = .requestSamplingRate
        case 0x0F: self = .requestCalibrationDate
        case 0x10: self = .compensateOffsetEnhanced
        case 0x20:
            let (command, outcome) = (try reader.uint8(), ControlPointOutcome(rawValue: try reader.uint8()))
            self = .response(to: command, outcome, try Answer(to: command, outcome, reading: &reader))
        default: self = .other(number, try reader.rest())
        }
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        writer.uint8(number)
        switch self {
        case .setWheelRevolutions(let count): try writer.put(count, as: UInt32.self, "the revolutions of the wheel")
        case .setLocation(let location): writer.uint8(location.rawValue)
        case .setCrankLength(let length): try writer.put(length, by: 2, as: UInt16.self, "the length of the crank")
        case .setChainLength(let length): try writer.put(length, as: UInt16.self, "the length of the chain")
        case .setChainWeight(let weight): try writer.put(weight, as: UInt16.self, "the weight of the chain")
        case .setSpanLength(let length): try writer.put(length, as: UInt16.self, "the span")
        case .omit(let fields): writer.uint16(fields.rawValue)
        case .response(let command, let outcome, let answer):
            writer.bytes([command, outcome.rawValue])
            try answer?.write(to: &writer)
        case .other(_, let parameters): writer.bytes(parameters)
        default: break
        }
    }

    /// The number on air.
    private var number: UInt8 {
        switch self {
        case .setWheelRevolutions: 0x01
        case .setLocation: 0x02
        case .requestLocations: 0x03
        case .setCrankLength: 0x04
        case .requestCrankLength: 0x05
        case .setChainLength: 0x06
        case .requestChainLength: 0x07
        case .setChainWeight: 0x08
        case .requestChainWeight: 0x09
        case .setSpanLength: 0x0A
        case .requestSpanLength: 0x0B
        case .compensateOffset: 0x0C
        case .omit: 0x0D
        case .requestSamplingRate: 0x0E
        case .requestCalibrationDate: 0x0F
        case .compensateOffsetEnhanced: 0x10
        case .response: 0x20
        case .other(let number, _): number
        }
    }
}
