import BLEDevices
import BLEStreams
import ConsoleOutput

extension AdvertisingData {
    /// Its beacon formats, as members of an object: `iBeacon`, `eddystone`, `bthome`.
    var beacons: [(String, JSON)] {
        let members: [(String, JSON?)] = [
            ("iBeacon", IBeacon(self)?.json), ("eddystone", Eddystone(self)?.json), ("bthome", BTHome(self)?.json),
        ]
        return members.compactMap { name, value in value.map { (name, $0) } }
    }

    /// The same for a person, in a few words each.
    var beaconTexts: [String] {
        [IBeacon(self)?.text, Eddystone(self)?.text].compactMap { $0 } + (BTHome(self)?.texts ?? [])
    }

    /// Each of its fields, as its type and its octets.
    var fields: [JSON] {
        map { .object(("type", .number($0.type.rawValue)), ("data", .hex($0.data))) }
    }
}

extension IBeacon {
    fileprivate var json: JSON {
        .object(
            ("uuid", .string("\(uuid)")),
            ("major", .number(major)),
            ("minor", .number(minor)),
            ("measuredPower", .number(measuredPower))
        )
    }

    fileprivate var text: String { "iBeacon \(uuid) \(major).\(minor)" }
}

extension Eddystone {
    fileprivate var json: JSON {
        switch self {
        case .identifier(let namespace, let instance, let power):
            .object(("namespace", .hex(namespace)), ("instance", .hex(instance)), ("power", .number(power)))
        case .url(let url, let power): .object(("url", .string(url)), ("power", .number(power)))
        case .telemetry(let telemetry):
            .object(
                ("batteryMillivolts", .number(telemetry.batteryMillivolts)),
                ("temperature", telemetry.temperature.map { .decimal($0) }),
                ("advertisementCount", .number(telemetry.advertisementCount)),
                ("uptime", .decimal(telemetry.uptime.seconds))
            )
        }
    }

    fileprivate var text: String {
        switch self {
        case .identifier(let namespace, let instance, _): "Eddystone \(namespace.hexText) \(instance.hexText)"
        case .url(let url, _): url.harmless
        case .telemetry(let telemetry): "Eddystone, on for \(telemetry.uptime)"
        }
    }
}

extension BTHome {
    fileprivate var json: JSON {
        .array(
            measurements.map { measurement in
                .object(
                    ("object", .string(measurement.object.title)),
                    ("value", .decimal(measurement.value)),
                    ("unit", .string(measurement.object.unit))
                )
            }
        )
    }

    fileprivate var texts: [String] {
        measurements.map { measurement in
            let unit = measurement.object.unit.map { $0.isEmpty ? "" : " \($0)" } ?? ""
            return "\(measurement.object.title) \(measurement.value)\(unit)"
        }
    }
}

extension BTHome.Object {
    /// Its name, or its number if it has none.
    fileprivate var title: String { name ?? "\(rawValue)" }
}
