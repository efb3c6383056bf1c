public import BLEStreams

/// The commands to a navigation device, and its answers (Location and Navigation Service 1.0, 3.6).
///
/// ```swift
/// let answer = try await link.perform(.requestRouteName(0), on: .navigationControlPoint)
/// if case .response(_, _, .routeName(let name)) = answer { print(name) }
/// try await link.perform(.selectRoute(0), on: .navigationControlPoint)
/// try await link.perform(.navigate(.start), on: .navigationControlPoint)
/// ```
///
/// ``NavigationFeatures`` says which of them the device supports.
public enum NavigationControl: Hashable, Sendable {
    /// Fields of ``LocationAndSpeed`` that can be turned off. Bits that are reserved are preserved.
    public struct Fields: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        /// The speed.
        public static let speed = Fields(rawValue: 1 << 0)
        /// The total distance.
        public static let distance = Fields(rawValue: 1 << 1)
        /// The position.
        public static let place = Fields(rawValue: 1 << 2)
        /// The elevation.
        public static let elevation = Fields(rawValue: 1 << 3)
        /// The heading.
        public static let heading = Fields(rawValue: 1 << 4)
        /// The rolling time.
        public static let rollingTime = Fields(rawValue: 1 << 5)
        /// The time in UTC.
        public static let time = Fields(rawValue: 1 << 6)

        /// The names of what is in it, as `speed, place`; empty if nothing is.
        public var description: String {
            named(["speed", "distance", "place", "elevation", "heading", "rolling time", "time"])
        }
    }

    /// What the device is to do with the selected route.
    public enum Action: UInt8, Hashable, Sendable {
        /// Ends navigation.
        case stop = 0
        /// Starts navigation.
        case start
        /// Pauses until ``resume``.
        case pause
        /// Goes on after ``pause``.
        case resume
        /// Goes on to the waypoint after the next one.
        case skipWaypoint
        /// Starts at the waypoint of the route that is nearest.
        case startNearest
    }

    /// What a device answers beside the outcome.
    public enum Answer: Hashable, Sendable {
        /// The number of stored routes.
        case routeCount(Int)
        /// The name of a route, as much of it as fits in an indication.
        case routeName(String)
        /// Octets of another meaning.
        case other([UInt8])
    }

    /// Sets the distance so far in metres, in steps of 0.1.
    case setDistance(Double)
    /// Turns fields of ``LocationAndSpeed`` off; those that aren't named are turned on again.
    case omit(Fields)
    /// Starts, ends or changes navigation.
    case navigate(Action)
    /// Requests the number of stored routes.
    case requestRouteCount
    /// Requests the name of a route, counted from 0.
    case requestRouteName(Int)
    /// Selects a route, counted from 0.
    case selectRoute(Int)
    /// Sets the time between two fixes, in seconds.
    case setFixInterval(Int)
    /// Sets the elevation in metres, in steps of 0.01; for devices that measure it by the pressure of the air.
    case setElevation(Double)
    /// The device's answer to the command with a number.
    case response(to: UInt8, ControlPointOutcome, Answer?)
    /// Another command, with its parameters.
    case other(UInt8, [UInt8])
}

extension CharacteristicKey where Self == TypedCharacteristic<NavigationControl> {
    /// LN Control Point, 2A6B: written and indicated.
    public static var navigationControlPoint: Self {
        TypedCharacteristic(
            BluetoothUUID(0x2A6B),
            decode: NavigationControl.init(reading:),
            encode: { value, writer throws(MalformedValue) in try value.write(to: &writer) }
        )
    }
}

extension NavigationControl: ControlPointCommand {
    public func result(of command: NavigationControl) -> ControlPointResult? {
        guard case .response(command.number, let outcome, _) = self else { return nil }
        return outcome.result
    }

    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .setDistance(Double(try reader.uint24()) / 10)
        case 0x02: self = .omit(Fields(rawValue: try reader.uint16()))
        case 0x03: self = .navigate(try reader.choice())
        case 0x04: self = .requestRouteCount
        case 0x05: self = .requestRouteName(Int(try reader.uint16()))
        case 0x06: self = .selectRoute(Int(try reader.uint16()))
        case 0x07: self = .setFixInterval(Int(try reader.uint8()))
        case 0x08: self = .setElevation(Double(try reader.int24()) / 100)
        case 0x20:
            let (command, outcome) = (try reader.uint8(), ControlPointOutcome(rawValue: try reader.uint8()))
            self = .response(to: command, outcome, try Answer(to: command, outcome, reading: &reader))
        default: self = .other(number, try reader.rest())
        }
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        writer.uint8(number)
        switch self {
        case .setDistance(let distance): try writer.put24(distance, by: 10, "the distance")
        case .omit(let fields): writer.uint16(fields.rawValue)
        case .navigate(let action): writer.uint8(action.rawValue)
        case .requestRouteCount: break
        case .requestRouteName(let route), .selectRoute(let route): try writer.put(route, as: UInt16.self, "the route")
        case .setFixInterval(let seconds): try writer.put(seconds, as: UInt8.self, "the time between two fixes")
        case .setElevation(let elevation): try writer.putElevation(elevation)
        case .response(let command, let outcome, let answer):
            writer.bytes([command, outcome.rawValue])
            switch answer {
            case .routeCount(let count): try writer.put(count, as: UInt16.self, "the number of routes")
            case .routeName(let name): writer.bytes(name.utf8)
            case .other(let octets): writer.bytes(octets)
            case nil: break
            }
        case .other(_, let parameters): writer.bytes(parameters)
        }
    }

    /// The number on air.
    private var number: UInt8 {
        switch self {
        case .setDistance: 0x01
        case .omit: 0x02
        case .navigate: 0x03
        case .requestRouteCount: 0x04
        case .requestRouteName: 0x05
        case .selectRoute: 0x06
        case .setFixInterval: 0x07
        case .setElevation: 0x08
        case .response: 0x20
        case .other(let number, _): number
        }
    }
}

extension NavigationControl.Answer {
    /// Reads what follows the outcome; `nil` if nothing does.
    fileprivate init?(
        to command: UInt8,
        _ outcome: ControlPointOutcome,
        reading reader: inout ValueReader
    ) throws(MalformedValue) {
        switch (command, outcome) {
        case (0x04, .success): self = .routeCount(Int(try reader.uint16()))
        // An indication has no room for more, and no bit says that the name goes on.
        case (0x05, .success): self = .routeName(try reader.text(isCut: true))
        default:
            if reader.isAtEnd { return nil }
            self = .other(try reader.rest())
        }
    }
}
