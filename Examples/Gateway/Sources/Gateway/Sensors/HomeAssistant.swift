import BLEDevices
import BLEStreams
import Synchronization

/// Tells Home Assistant of the numbers that are decoded: a retained message for each, with the topic and the place in
/// its objects. Source: Home Assistant, "MQTT", MQTT discovery.
final class HomeAssistant: Sendable {
    /// The most numbers that are announced.
    static let limit = 2000

    private struct State {
        /// The paths to the numbers that are announced, by the peripheral's label and the characteristic.
        var announced: [String: [PublishedCharacteristic: Set<[String]>]] = [:]
        var count = 0
        var isFull = false
    }

    private let prefix: String
    private let publisher: Publisher
    private let state = Mutex(State())

    init(prefix: String, _ publisher: Publisher) {
        self.prefix = prefix
        self.publisher = publisher
    }

    /// Announces the numbers of a value, each once.
    func announce(
        _ value: DecodedValue,
        of characteristic: PublishedCharacteristic,
        from label: String,
        on topic: String
    ) {
        for number in value.numbers where isNew(number.path, characteristic, label) {
            announce(number.path, number.unit, characteristic, label, topic)
        }
    }

    private func isNew(_ path: [String], _ characteristic: PublishedCharacteristic, _ label: String) -> Bool {
        let (isNew, isTooMuch) = state.withLock { state in
            guard state.announced[label]?[characteristic]?.contains(path) != true else { return (false, false) }
            guard state.count < Self.limit else {
                defer { state.isFull = true }
                return (false, !state.isFull)
            }
            state.announced[label, default: [:]][characteristic, default: []].insert(path)
            state.count += 1
            return (true, false)
        }
        if isTooMuch {
            publisher.report(
                "homeAssistant: there are more than \(Self.limit) values, and the others are not announced. Use "
                    + "several gateways."
            )
        }
        return isNew
    }

    /// Takes back what was announced of other characteristics of a peripheral than these; with none, all of it.
    func keep(_ characteristics: [PublishedCharacteristic], of label: String) {
        let gone = state.withLock { state in
            let gone = state.announced[label, default: [:]].filter { !characteristics.contains($0.key) }
            for (characteristic, paths) in gone {
                state.announced[label]?[characteristic] = nil
                state.count -= paths.count
            }
            if state.announced[label]?.isEmpty == true { state.announced[label] = nil }
            return gone
        }
        for (characteristic, paths) in gone {
            for path in paths { publisher.remove(absolute: place(of: names(path, characteristic, label))) }
        }
    }

    private func names(
        _ path: [String],
        _ characteristic: PublishedCharacteristic,
        _ label: String
    ) -> (device: String, object: String) {
        (
            Self.identifier("\(publisher.prefix)-\(label)"),
            Self.identifier(([characteristic.topic] + path).joined(separator: "-"))
        )
    }

    private func place(of names: (device: String, object: String)) -> String {
        "\(prefix)/sensor/\(names.device)/\(names.object)/config"
    }

    private func announce(
        _ path: [String],
        _ unit: String,
        _ characteristic: PublishedCharacteristic,
        _ label: String,
        _ topic: String
    ) {
        let (device, object) = names(path, characteristic, label)
        var words = characteristic.words
        if !path.isEmpty { words = Array(words.dropLast()) + path }
        let config = JSONText.object(
            ("name", .string(words.joined(separator: " "))),
            ("unique_id", .string("\(device)-\(object)")),
            ("state_topic", .string("\(publisher.prefix)/\(topic)")),
            ("value_template", .string("{{ \((["value_json", "decoded"] + path).joined(separator: ".")) }}")),
            ("unit_of_measurement", unit.isEmpty ? nil : .string(unit)),
            ("device_class", Self.deviceClass(of: characteristic.uuid).map { .string($0) }),
            ("state_class", "measurement"),
            ("availability_topic", .string("\(publisher.prefix)/status")),
            ("device", .object(("identifiers", .array([.string(device)])), ("name", .string(label))))
        )
        publisher.retain(absolute: place(of: (device, object)), config.octets)
    }

    /// A text in the characters that Home Assistant permits. Those beyond ASCII are written as their numbers: labels
    /// that differ in nothing else stay different. Those in ASCII that are neither letters nor digits become hyphens,
    /// also the low line, which begins a number.
    static func identifier(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            guard scalar.isASCII else { return "_" + String(scalar.value, radix: 16) }
            let character = Character(scalar)
            return character.isLetter || character.isNumber ? String(character) : "-"
        }.joined()
    }

    private static func deviceClass(of uuid: BluetoothUUID) -> String? {
        let classes: [BluetoothUUID: String] = [
            .Characteristics.temperature: "temperature", .Characteristics.humidity: "humidity",
            .Characteristics.pressure: "atmospheric_pressure", .Characteristics.batteryLevel: "battery",
        ]
        return classes[uuid]
    }
}
