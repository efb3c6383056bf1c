public import BLEStreams

/// The commands to a fitness machine, and its answers (Fitness Machine Service 1.0, 4.16).
///
/// ```swift
/// try await link.perform(.requestControl, on: .fitnessMachineControlPoint)
/// try await link.perform(.setPower(180), on: .fitnessMachineControlPoint)
/// ```
///
/// A machine accepts no other command before ``requestControl``, and answers each command with an indication:
/// ``response(to:_:)``.
public enum FitnessMachineControl: Hashable, Sendable {
    /// How a command has ended.
    public typealias Outcome = ControlPointOutcome

    /// Requests control of the machine.
    case requestControl
    /// Resets all settings, and gives up control.
    case reset
    /// Sets the target speed, in kilometres per hour.
    case setSpeed(Double)
    /// Sets the target inclination, in percent.
    case setInclination(Double)
    /// Sets the target resistance, without a unit, 0 to 25.5. Some trainers want two octets, against the specification:
    /// `.other(4, [100, 0])` sets 10.
    case setResistance(Double)
    /// Sets the target power, in watts.
    case setPower(Int)
    /// Sets the target heart rate, in beats per minute.
    case setHeartRate(Int)
    /// Starts or resumes the session.
    case start
    /// Ends the session.
    case stop
    /// Pauses until ``start``.
    case pause
    /// Sets the distance to the end of the session, in metres.
    case setDistance(Int)
    /// Sets the time to the end of the session, in seconds.
    case setDuration(Int)
    /// Simulates a ride on an indoor bike: the wind in metres per second, the slope in percent, the rolling resistance,
    /// and the wind resistance in kilograms per metre.
    case simulate(wind: Double, slope: Double, rolling: Double, windResistance: Double)
    /// The machine's answer to the command with a number.
    case response(to: UInt8, Outcome)
    /// Another command, with its parameters: `.other(0x13, [1])` begins a spin-down. The machine's answer to that is
    /// `.other(0x80, …)`, with 0x13, the outcome, and the two speeds of the spin-down, of two octets each, in steps of
    /// 0.01 km/h.
    case other(UInt8, [UInt8])
}

extension CharacteristicKey where Self == TypedCharacteristic<FitnessMachineControl> {
    /// Fitness Machine Control Point, 2AD9: written and indicated.
    public static var fitnessMachineControlPoint: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2AD9),
            decode: FitnessMachineControl.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension FitnessMachineControl: ControlPointCommand {
    public func result(of command: FitnessMachineControl) -> ControlPointResult? {
        switch self {
        case .response(command.number, let outcome): return outcome.result
        case .other(0x80, let octets) where octets.count > 1 && octets[0] == command.number:
            return Outcome(rawValue: octets[1]).result
        default: return nil
        }
    }

    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        self = try FitnessMachineControl(number: try reader.uint8(), reading: &reader)
    }

    /// The command with a number, whose parameters are to be read.
    init(number: UInt8, reading reader: inout ValueReader) throws(MalformedValue) {
        switch number {
        case 0x00: self = .requestControl
        case 0x01: self = .reset
        case 0x02: self = .setSpeed(Double(try reader.uint16()) / 100)
        case 0x03: self = .setInclination(Double(try reader.int16()) / 10)
        case 0x04: self = .setResistance(Double(try reader.uint8()) / 10)
        case 0x05: self = .setPower(Int(try reader.int16()))
        case 0x06: self = .setHeartRate(Int(try reader.uint8()))
        case 0x07: self = .start
        case 0x08:
            let kind = try reader.uint8()
            guard kind == 1 || kind == 2 else { throw MalformedValue("\(kind) is neither stop nor pause") }
            self = kind == 1 ? .stop : .pause
        case 0x0C: self = .setDistance(Int(try reader.uint24()))
        case 0x0D: self = .setDuration(Int(try reader.uint16()))
        case 0x11:
            self = .simulate(
                wind: Double(try reader.int16()) / 1000,
                slope: Double(try reader.int16()) / 100,
                rolling: Double(try reader.uint8()) / 10_000,
                windResistance: Double(try reader.uint8()) / 100
            )
        case 0x80: self = try Self.answer(reading: &reader)
        default: self = .other(number, try reader.rest())
        }
    }

    private static func answer(reading reader: inout ValueReader) throws(MalformedValue) -> FitnessMachineControl {
        let (command, outcome) = (try reader.uint8(), Outcome(rawValue: try reader.uint8()))
        // That to a spin-down is the only one with parameters (4.16.2.20).
        guard command == 0x13, outcome == .success, !reader.isAtEnd else { return .response(to: command, outcome) }
        let speeds = try reader.rest()
        return .other(0x80, [command, outcome.rawValue] + speeds)
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        writer.uint8(number)
        try writeParameters(to: &writer)
    }

    func writeParameters(to writer: inout ValueWriter) throws(MalformedValue) {
        switch self {
        case .requestControl, .reset, .start: break
        case .setSpeed(let speed): try writer.put(speed, by: 100, as: UInt16.self, "the speed")
        case .setInclination(let slope): try writer.put(slope, by: 10, as: Int16.self, "the inclination")
        case .setResistance(let level): try writer.put(level, by: 10, as: UInt8.self, "the resistance")
        case .setPower(let power): try writer.put(power, as: Int16.self, "the power")
        case .setHeartRate(let rate): try writer.put(rate, as: UInt8.self, "the heart rate")
        case .stop: writer.uint8(1)
        case .pause: writer.uint8(2)
        case .setDistance(let distance): try writer.put24(distance, "the distance")
        case .setDuration(let duration): try writer.put(duration, as: UInt16.self, "the duration")
        case .simulate(let wind, let slope, let rolling, let windResistance):
            try writer.put(wind, by: 1000, as: Int16.self, "the wind")
            try writer.put(slope, by: 100, as: Int16.self, "the slope")
            try writer.put(rolling, by: 10_000, as: UInt8.self, "the resistance of rolling")
            try writer.put(windResistance, by: 100, as: UInt8.self, "the resistance of the wind")
        case .response(let number, let outcome):
            writer.uint8(number)
            writer.uint8(outcome.rawValue)
        case .other(_, let parameters): writer.bytes(parameters)
        }
    }

    /// The number on air.
    var number: UInt8 {
        switch self {
        case .requestControl: 0x00
        case .reset: 0x01
        case .setSpeed: 0x02
        case .setInclination: 0x03
        case .setResistance: 0x04
        case .setPower: 0x05
        case .setHeartRate: 0x06
        case .start: 0x07
        case .stop, .pause: 0x08
        case .setDistance: 0x0C
        case .setDuration: 0x0D
        case .simulate: 0x11
        case .response: 0x80
        case .other(let number, _): number
        }
    }
}
