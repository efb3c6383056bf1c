public import BLEStreams

/// How a battery is, and whether it is being charged (Battery Service 1.1, 3.2).
public struct BatteryLevelStatus: Hashable, Sendable {
    /// Whether a device has a source of power beside the battery.
    public enum ExternalSource: UInt16, Hashable, Sendable {
        /// There is none.
        case absent = 0
        /// There is one.
        case connected
        /// The device doesn't know.
        case unknown
    }

    /// What the battery does.
    public enum Charging: UInt16, Hashable, Sendable {
        /// The device doesn't know.
        case unknown = 0
        /// It is being charged.
        case charging
        /// It supplies the device.
        case discharging
        /// It supplies nothing, and loses charge by itself.
        case idle
    }

    /// How much is left, in a word.
    public enum Level: UInt16, Hashable, Sendable {
        /// The device doesn't know.
        case unknown = 0
        /// Enough.
        case good
        /// Little: charge it soon.
        case low
        /// The device may stop at any time.
        case critical
    }

    /// Whether there is a battery.
    public var isPresent: Bool
    /// A source with a cable; `nil` for a reserved number.
    public var wired: ExternalSource?
    /// A source without a cable; `nil` for a reserved number.
    public var wireless: ExternalSource?
    /// What the battery does.
    public var charging: Charging
    /// How much is left, in a word.
    public var level: Level
    /// The kind of charging: 1 constant current, 2 constant voltage, 3 trickle, 4 float; 0 unknown, or not charging.
    public var chargingKind: Int
    /// Why it can't be charged: the battery (bit 0), the source (bit 1), something else (bit 2).
    public var faults: Int
    /// The number of the battery among several; `nil` if not reported.
    public var identifier: Int?
    /// The charge in percent; `nil` if not reported.
    public var percent: Int?
    /// Whether the battery must be serviced (bits 0 and 1: 0 no, 1 yes, 2 unknown), and whether it has failed (bit 2);
    /// `nil` if not reported.
    public var service: Int?

    /// Creates a status from its values.
    public init(
        isPresent: Bool = true,
        wired: ExternalSource? = .absent,
        wireless: ExternalSource? = .absent,
        charging: Charging = .unknown,
        level: Level = .unknown,
        chargingKind: Int = 0,
        faults: Int = 0,
        identifier: Int? = nil,
        percent: Int? = nil,
        service: Int? = nil
    ) {
        (self.isPresent, self.wired, self.wireless) = (isPresent, wired, wireless)
        (self.charging, self.level, self.chargingKind, self.faults) = (charging, level, chargingKind, faults)
        (self.identifier, self.percent, self.service) = (identifier, percent, service)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<BatteryLevelStatus> {
    /// Battery Level Status, 2BED: read and notified.
    public static var batteryLevelStatus: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2BED),
            decode: BatteryLevelStatus.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension BatteryLevelStatus {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let flags = Flags(try reader.uint8())
        let state = Flags(try reader.uint16())
        self.init(
            isPresent: state[0],
            wired: ExternalSource(rawValue: UInt16(state.pair(at: 1))),
            wireless: ExternalSource(rawValue: UInt16(state.pair(at: 3))),
            // Each number of two bits has a meaning.
            charging: Charging(rawValue: UInt16(state.pair(at: 5))) ?? .unknown,
            level: Level(rawValue: UInt16(state.pair(at: 7))) ?? .unknown,
            chargingKind: Int(state.bits >> 9 & 0b111),
            faults: Int(state.bits >> 12 & 0b111),
            identifier: try reader.uint16(if: flags[0]),
            percent: try reader.uint8(if: flags[1]),
            service: try reader.uint8(if: flags[2])
        )
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        guard 0..<8 ~= chargingKind, 0..<8 ~= faults else {
            throw MalformedValue("the kind of charging, \(chargingKind), or the faults, \(faults), exceed three bits")
        }
        let flags: Flags<UInt8> = Flags([0: identifier != nil, 1: percent != nil, 2: service != nil])
        writer.uint8(flags.bits)
        var state: UInt16 = isPresent ? 1 : 0
        state |= (wired?.rawValue ?? 3) << 1 | (wireless?.rawValue ?? 3) << 3
        state |= charging.rawValue << 5 | level.rawValue << 7
        state |= UInt16(chargingKind) << 9 | UInt16(faults) << 12
        writer.uint16(state)
        try writer.put(identifier, as: UInt16.self, "the identifier")
        try writer.put(percent, as: UInt8.self, "the charge")
        try writer.put(service, as: UInt8.self, "the service state")
    }
}
