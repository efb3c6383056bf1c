public import BLEStreams

/// The commands to a cycling or running sensor, and its answers (Cycling Speed and Cadence Service 1.0, 3.4; Running
/// Speed and Cadence Service 1.0, 3.4).
///
/// ```swift
/// let features = try await link.read(.runningFeatures)
/// if features.contains(.calibration) {
///     try await link.perform(.calibrate, on: .speedAndCadenceControlPoint)
/// }
/// ```
public enum SensorControl: Hashable, Sendable {
    /// Sets the sensor's total: the revolutions of a bicycle's wheel, or a runner's distance in steps of 0.1 m.
    case setTotal(Int)
    /// Calibrates a running sensor.
    case calibrate
    /// Tells the sensor where it is.
    case setLocation(SensorLocation)
    /// Requests where the sensor can be.
    case requestLocations
    /// The sensor's answer to the command with a number; the places where it can be, without reserved ones, answer
    /// ``requestLocations``.
    case response(to: UInt8, ControlPointOutcome, locations: [SensorLocation]?)
    /// Another command, with its parameters.
    case other(UInt8, [UInt8])
}

extension CharacteristicKey where Self == TypedCharacteristic<SensorControl> {
    /// SC Control Point, 2A55: written and indicated.
    public static var speedAndCadenceControlPoint: Self {
        TypedCharacteristic(
            .Characteristics.speedAndCadenceControlPoint,
            decode: SensorControl.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension SensorControl: ControlPointCommand {
    public func result(of command: SensorControl) -> ControlPointResult? {
        guard case .response(command.number, let outcome, _) = self else { return nil }
        return outcome.result
    }

    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .setTotal(Int(try reader.uint32()))
        case 0x02: self = .calibrate
        case 0x03: self = .setLocation(try reader.choice())
        case 0x04: self = .requestLocations
        case 0x10:
            let (command, outcome) = (try reader.uint8(), ControlPointOutcome(rawValue: try reader.uint8()))
            let hasLocations = command == SensorControl.requestLocations.number && outcome == .success
            self = .response(to: command, outcome, locations: hasLocations ? try reader.locations() : nil)
        default: self = .other(number, try reader.rest())
        }
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        writer.uint8(number)
        switch self {
        case .setTotal(let total): try writer.put(total, as: UInt32.self, "the total")
        case .calibrate, .requestLocations: break
        case .setLocation(let location): writer.uint8(location.rawValue)
        case .response(let command, let outcome, let locations):
            writer.bytes([command, outcome.rawValue] + (locations ?? []).map(\.rawValue))
        case .other(_, let parameters): writer.bytes(parameters)
        }
    }

    /// The number on air.
    private var number: UInt8 {
        switch self {
        case .setTotal: 0x01
        case .calibrate: 0x02
        case .setLocation: 0x03
        case .requestLocations: 0x04
        case .response: 0x10
        case .other(let number, _): number
        }
    }
}
