import BLEProtocol

extension BTHome {
    /// The quantity of a value, by its number in the format.
    public struct Object: RawRepresentable, Hashable, Sendable {
        /// The octet on air.
        public let rawValue: UInt8

        /// Makes an object from its octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The number of the advertisement: a receiver ignores one that it has already seen.
        public static let packetID = Object(rawValue: 0x00)
        /// The charge of the battery in %.
        public static let battery = Object(rawValue: 0x01)
        /// The temperature in °C, in steps of 0.01.
        public static let temperature = Object(rawValue: 0x02)
        /// The relative humidity in %, in steps of 0.01.
        public static let humidity = Object(rawValue: 0x03)
        /// The pressure of the air in hPa, in steps of 0.01.
        public static let pressure = Object(rawValue: 0x04)
        /// The illuminance in lx, in steps of 0.01.
        public static let illuminance = Object(rawValue: 0x05)
        /// A count up to 4294967295.
        public static let counter = Object(rawValue: 0x3E)
        /// The power in W, in steps of 0.01.
        public static let power = Object(rawValue: 0x0B)
        /// The voltage in V, in steps of 0.001.
        public static let voltage = Object(rawValue: 0x0C)
        /// The carbon dioxide in ppm.
        public static let carbonDioxide = Object(rawValue: 0x12)
        /// Whether it is open: 1 for open.
        public static let opening = Object(rawValue: 0x11)
        /// Whether something moves: 1 for motion.
        public static let motion = Object(rawValue: 0x21)
        /// A button event: 0 none, 1 a press, 2 a double press, 3 a triple press, 4 a long press, 5 a long double
        /// press, 6 a long triple press, 128 it is held.
        public static let button = Object(rawValue: 0x3A)

        /// How a value is encoded.
        struct Form {
            let name: String
            let octets: Int
            let isSigned: Bool
            /// The divisor from the number to the value, applied after the multiplication, so that few values are
            /// inexact.
            let divisor: Double
            let multiplier: Double
            let unit: String
        }
    }
}

extension BTHome.Object {
    /// The name in the format's list of objects: `temperature`; `nil` if unknown to this library. A variant with
    /// another width or step has its number appended: `temperature 0x45`.
    public var name: String? { form.map(\.name) }

    /// The unit of its values: `°C`; empty for a number, a state or an event; `nil` if unknown to this library.
    public var unit: String? { form.map(\.unit) }

    /// The steps of its values.
    public var step: Double? { form.map { $0.multiplier / $0.divisor } }

    /// The object with a name; `nil` if there is none.
    public init?(name: String) {
        guard let form = Self.forms.first(where: { $0.value.name == name }) else { return nil }
        self.init(rawValue: form.key)
    }

    /// All objects that have a name, by their numbers.
    public static var all: [BTHome.Object] { forms.keys.sorted().map(Self.init(rawValue:)) }

    var form: Form? { Self.forms[rawValue] }

    /// Text and raw data contain their length.
    var isOfAnyLength: Bool { rawValue == 0x53 || rawValue == 0x54 }

    func refusal(_ cause: String, _ remedy: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "advertise",
            object: "BTHome \(name ?? "object \(rawValue.hexadecimal)")",
            cause: cause,
            remedy: remedy
        )
    }

    private static func unsigned(_ name: String, _ octets: Int, _ divisor: Double = 1, _ unit: String = "") -> Form {
        Form(name: name, octets: octets, isSigned: false, divisor: divisor, multiplier: 1, unit: unit)
    }

    private static func signed(
        _ name: String,
        _ octets: Int,
        _ divisor: Double = 1,
        _ unit: String = "",
        times multiplier: Double = 1
    ) -> Form {
        Form(name: name, octets: octets, isSigned: true, divisor: divisor, multiplier: multiplier, unit: unit)
    }

    private static let forms: [UInt8: Form] = {
        var forms = first.merging(second) { $1 }.merging(third) { $1 }
        for (number, name) in states { forms[number] = unsigned(name, 1) }
        return forms
    }()

    private static let first: [UInt8: Form] = [
        0x00: unsigned("packet id", 1), 0x01: unsigned("battery", 1, 1, "%"),
        0x02: signed("temperature", 2, 100, "°C"), 0x03: unsigned("humidity", 2, 100, "%"),
        0x04: unsigned("pressure", 3, 100, "hPa"), 0x05: unsigned("illuminance", 3, 100, "lx"),
        0x06: unsigned("mass", 2, 100, "kg"), 0x07: unsigned("mass 0x07", 2, 100, "lb"),
        0x08: signed("dewpoint", 2, 100, "°C"), 0x09: unsigned("counter 0x09", 1),
        0x0A: unsigned("energy", 3, 1000, "kWh"), 0x0B: unsigned("power", 3, 100, "W"),
        0x0C: unsigned("voltage", 2, 1000, "V"), 0x0D: unsigned("pm2.5", 2, 1, "µg/m³"),
        0x0E: unsigned("pm10", 2, 1, "µg/m³"), 0x12: unsigned("co2", 2, 1, "ppm"),
        0x13: unsigned("tvoc", 2, 1, "µg/m³"), 0x14: unsigned("moisture", 2, 100, "%"),
    ]

    private static let second: [UInt8: Form] = [
        0x2E: unsigned("humidity 0x2E", 1, 1, "%"), 0x2F: unsigned("moisture 0x2F", 1, 1, "%"),
        0x3A: unsigned("button", 1), 0x3C: unsigned("dimmer", 2), 0x3D: unsigned("counter 0x3D", 2),
        0x3E: unsigned("counter", 4), 0x3F: signed("rotation", 2, 10, "°"),
        0x40: unsigned("distance", 2, 1, "mm"), 0x41: unsigned("distance 0x41", 2, 10, "m"),
        0x42: unsigned("duration", 3, 1000, "s"), 0x43: unsigned("current", 2, 1000, "A"),
        0x44: unsigned("speed", 2, 100, "m/s"), 0x45: signed("temperature 0x45", 2, 10, "°C"),
        0x46: unsigned("uv index", 1, 10), 0x47: unsigned("volume 0x47", 2, 10, "L"),
        0x48: unsigned("volume 0x48", 2, 1, "mL"), 0x49: unsigned("volume flow rate", 2, 1000, "m³/h"),
        0x4A: unsigned("voltage 0x4A", 2, 10, "V"), 0x4B: unsigned("gas volume 0x4B", 3, 1000, "m³"),
        0x4C: unsigned("gas volume", 4, 1000, "m³"), 0x4D: unsigned("energy 0x4D", 4, 1000, "kWh"),
        0x4E: unsigned("volume", 4, 1000, "L"), 0x4F: unsigned("water", 4, 1000, "L"),
    ]

    private static let third: [UInt8: Form] = [
        0x50: unsigned("timestamp", 4, 1, "s"), 0x51: unsigned("acceleration", 2, 1000, "m/s²"),
        0x52: unsigned("gyroscope", 2, 1000, "°/s"), 0x55: unsigned("volume storage", 4, 1000, "L"),
        0x56: unsigned("conductivity", 2, 1, "µS/cm"), 0x57: signed("temperature 0x57", 1, 1, "°C"),
        0x58: signed("temperature 0x58", 1, 20, "°C", times: 7), 0x59: signed("counter 0x59", 1),
        0x5A: signed("counter 0x5A", 2), 0x5B: signed("counter 0x5B", 4), 0x5C: signed("power 0x5C", 4, 100, "W"),
        0x5D: signed("current 0x5D", 2, 1000, "A"), 0x5E: unsigned("direction", 2, 100, "°"),
        0x5F: unsigned("precipitation", 2, 10, "mm"), 0x60: unsigned("channel", 1),
        0x61: unsigned("rotational speed", 2, 1, "rpm"), 0x62: signed("speed 0x62", 4, 1_000_000, "m/s"),
        0x63: signed("acceleration 0x63", 4, 1_000_000, "m/s²"), 0x64: unsigned("light level", 1),
        0xF0: unsigned("device type", 2), 0xF1: unsigned("firmware", 4), 0xF2: unsigned("firmware 0xF2", 3),
    ]

    /// The objects with the values 0 and 1.
    private static let states: [UInt8: String] = [
        0x0F: "generic", 0x10: "power state", 0x11: "opening", 0x15: "battery low", 0x16: "battery charging",
        0x17: "carbon monoxide", 0x18: "cold", 0x19: "connectivity", 0x1A: "door", 0x1B: "garage door", 0x1C: "gas",
        0x1D: "heat", 0x1E: "light", 0x1F: "lock", 0x20: "moisture state", 0x21: "motion", 0x22: "moving",
        0x23: "occupancy", 0x24: "plug", 0x25: "presence", 0x26: "problem", 0x27: "running", 0x28: "safety",
        0x29: "smoke", 0x2A: "sound", 0x2B: "tamper", 0x2C: "vibration", 0x2D: "window",
    ]
}

extension BTHome.Object.Form {
    /// The range of the encoded number.
    var range: ClosedRange<Double> {
        let count = Double(UInt64(1) << UInt64(8 * octets))
        return isSigned ? -count / 2...count / 2 - 1 : 0...count - 1
    }

    func value(_ number: Double) -> Double { number * multiplier / divisor }

    /// Encodes a value that is rounded to the steps and in range.
    func octets(of value: Double) -> [UInt8] {
        let number = Int64((value * divisor / multiplier).rounded())
        return (0..<octets).map { UInt8(truncatingIfNeeded: number >> Int64(8 * $0)) }
    }

    func number(_ octets: ArraySlice<UInt8>) -> Double {
        let number = octets.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let isNegative = isSigned && (octets.last ?? 0) >= 0x80
        return Double(isNegative ? number - Int64(1) << Int64(8 * octets.count) : number)
    }
}
