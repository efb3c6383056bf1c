public import BLEStreams

/// What has happened to a fitness machine, whoever has done it (Fitness Machine Service 1.0, 4.17).
public enum FitnessMachineStatus: Hashable, Sendable {
    /// All settings were reset.
    case reset
    /// A person has ended the session.
    case stopped
    /// A person has paused the session.
    case paused
    /// The safety key has ended the session.
    case stoppedBySafetyKey
    /// A person has started or resumed the session.
    case started
    /// A setting was changed; the value is the command that changes it so, such as
    /// ``FitnessMachineControl/setPower(_:)``.
    case changed(FitnessMachineControl)
    /// This device no longer has control.
    case controlLost
    /// Something else, with its parameters.
    case other(UInt8, [UInt8])
}

extension CharacteristicKey where Self == TypedCharacteristic<FitnessMachineStatus> {
    /// Fitness Machine Status, 2ADA: notified.
    public static var fitnessMachineStatus: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2ADA),
            decode: FitnessMachineStatus.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension FitnessMachineStatus {
    /// The commands whose changes are told, in the order of their statuses, which begin at 5.
    private static let commands: [UInt8] = Array(0x02...0x06) + Array(0x09...0x12)
    private static let firstChange: UInt8 = 5
    /// The command for the cadence comes after the spin-down, whose status is none of a setting.
    private static let cadence = (status: UInt8(0x15), command: UInt8(0x14))

    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .reset
        case 0x02:
            let kind = try reader.uint8()
            guard kind == 1 || kind == 2 else { throw MalformedValue("\(kind) is neither stopped nor paused") }
            self = kind == 1 ? .stopped : .paused
        case 0x03: self = .stoppedBySafetyKey
        case 0x04: self = .started
        case 0xFF: self = .controlLost
        case Self.cadence.status:
            self = .changed(try FitnessMachineControl(number: Self.cadence.command, reading: &reader))
        case Self.firstChange..<Self.firstChange + UInt8(Self.commands.count):
            let command = Self.commands[Int(number - Self.firstChange)]
            self = .changed(try FitnessMachineControl(number: command, reading: &reader))
        default: self = .other(number, try reader.rest())
        }
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        switch self {
        case .reset: writer.uint8(0x01)
        case .stopped: writer.bytes([0x02, 0x01])
        case .paused: writer.bytes([0x02, 0x02])
        case .stoppedBySafetyKey: writer.uint8(0x03)
        case .started: writer.uint8(0x04)
        case .controlLost: writer.uint8(0xFF)
        case .changed(let command):
            guard let status = Self.status(of: command) else {
                throw MalformedValue("\(command) changes no setting")
            }
            writer.uint8(status)
            try command.writeParameters(to: &writer)
        case .other(let number, let parameters):
            writer.uint8(number)
            writer.bytes(parameters)
        }
    }

    /// The number of the status that tells of a command; `nil` if the command changes no setting.
    private static func status(of command: FitnessMachineControl) -> UInt8? {
        if command.number == cadence.command { return cadence.status }
        return commands.firstIndex(of: command.number).map { firstChange + UInt8($0) }
    }
}
