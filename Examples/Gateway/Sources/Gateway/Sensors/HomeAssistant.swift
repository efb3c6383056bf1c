import BLEDevices
import BLEStreams
import Synchronization

/// Tells Home Assistant of the numbers that are decoded: a retained message for each, with the topic and the place in
/// its objects. Source: Home Assistant, "MQTT", MQTT discovery.
final class HomeAssistant: Sendable {
    /// The most numbers that are announced.
    private static let limit = 512

    private let prefix: String
    private let publisher: Publisher
    private let announced = Mutex<Set<String>>([])

    init(prefix: String, _ publisher: Publisher) {
        self.prefix = prefix
        self.publisher = publisher
    }

    /// Announces the numbers of a value, once.
    func announce(_ value: DecodedValue, of uuid: BluetoothUUID, from label: String, on topic: String) {
        let isNew = announced.withLock { $0.count < Self.limit && $0.insert(topic).inserted }
        guard isNew else { return }
        for number in value.numbers { announce(number.path, number.unit, uuid, label, topic) }
    }

    private func announce(_ path: [String], _ unit: String, _ uuid: BluetoothUUID, _ label: String, _ topic: String) {
        let device = Self.identifier("\(publisher.prefix)-\(label)")
        let object = Self.identifier(([uuid.description] + path).joined(separator: "-"))
        let name = (path.isEmpty ? [Self.name(of: uuid)] : path).joined(separator: " ")
        let config = JSONText.object(
            ("name", .string(name)),
            ("unique_id", .string("\(device)-\(object)")),
            ("state_topic", .string("\(publisher.prefix)/\(topic)")),
            ("value_template", .string("{{ \((["value_json", "decoded"] + path).joined(separator: ".")) }}")),
            ("unit_of_measurement", unit.isEmpty ? nil : .string(unit)),
            ("device_class", Self.deviceClass(of: uuid).map { .string($0) }),
            ("state_class", "measurement"),
            ("availability_topic", .string("\(publisher.prefix)/status")),
            ("device", .object(("identifiers", .array([.string(device)])), ("name", .string(label))))
        )
        publisher.retain(absolute: "\(prefix)/sensor/\(device)/\(object)/config", config.octets)
    }

    private static func identifier(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    private static func name(of uuid: BluetoothUUID) -> String { uuid.name ?? "\(uuid)" }

    private static func deviceClass(of uuid: BluetoothUUID) -> String? {
        let classes: [BluetoothUUID: String] = [
            .Characteristics.temperature: "temperature", .Characteristics.humidity: "humidity",
            .Characteristics.pressure: "atmospheric_pressure", .Characteristics.batteryLevel: "battery",
        ]
        return classes[uuid]
    }
}
