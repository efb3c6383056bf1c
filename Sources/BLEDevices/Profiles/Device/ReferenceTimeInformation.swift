public import BLEStreams

/// Where a device has its time from, and how good it is (Current Time Service 1.1, 3.3).
public struct ReferenceTimeInformation: Hashable, Sendable {
    /// What a device has its time from.
    public enum Source: UInt8, Hashable, Sendable {
        /// Unknown, or reserved.
        case unknown = 0
        /// The Network Time Protocol.
        case networkTimeProtocol
        /// Satellites.
        case satellites
        /// A radio time signal.
        case radio
        /// A person.
        case manual
        /// An atomic clock.
        case atomicClock
        /// The cellular network.
        case cellularNetwork
    }

    /// How much a clock may differ from its source.
    public enum Accuracy: Hashable, Sendable {
        /// By this much, in steps of 1/8 s, up to 31.625 s.
        case within(Duration)
        /// By more.
        case outOfRange
        /// The device doesn't know.
        case unknown
    }

    /// What the device has its time from.
    public var source: Source
    /// How much its clock may differ.
    public var accuracy: Accuracy
    /// The days since the clock was set from its source; 255: that many, or more.
    public var days: Int
    /// The hours beyond these days; 255 if the days are.
    public var hours: Int

    /// Creates a value from its parts.
    public init(source: Source, accuracy: Accuracy, days: Int, hours: Int) {
        (self.source, self.accuracy, self.days, self.hours) = (source, accuracy, days, hours)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<ReferenceTimeInformation> {
    /// Reference Time Information, 2A14: read.
    public static var referenceTimeInformation: Self {
        TypedCharacteristic(BluetoothUUID(0x2A14)) { reader throws(MalformedValue) in
            ReferenceTimeInformation(
                source: ReferenceTimeInformation.Source(rawValue: try reader.uint8()) ?? .unknown,
                accuracy: ReferenceTimeInformation.Accuracy(try reader.uint8()),
                days: Int(try reader.uint8()),
                hours: Int(try reader.uint8())
            )
        } encode: { value, writer throws(MalformedValue) in
            writer.uint8(value.source.rawValue)
            writer.uint8(try value.accuracy.octet())
            try writer.put(value.days, as: UInt8.self, "the days")
            try writer.put(value.hours, as: UInt8.self, "the hours")
        }
    }
}

extension ReferenceTimeInformation.Accuracy {
    fileprivate init(_ octet: UInt8) {
        switch octet {
        case 254: self = .outOfRange
        case 255: self = .unknown
        default: self = .within(.milliseconds(125 * Int(octet)))
        }
    }

    fileprivate func octet() throws(MalformedValue) -> UInt8 {
        switch self {
        case .outOfRange: return 254
        case .unknown: return 255
        case .within(let difference):
            guard let steps = UInt8(exactly: difference / .milliseconds(125)), steps < 254 else {
                throw MalformedValue("\(difference) is not between 0 and 31.625 s in steps of 1/8 s")
            }
            return steps
        }
    }
}
