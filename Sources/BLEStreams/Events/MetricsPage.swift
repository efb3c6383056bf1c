import BLEProtocol
import Synchronization

/// The counts and durations of one or more centrals, as a page that Prometheus reads.
///
/// ```swift
/// let page = MetricsPage()
/// let central = try await Central.open(.default.reporting(to: page))
/// …
/// print(page.text)        // or hand it out at /metrics, as text/plain; version=0.0.4
/// ```
///
/// | metric | what it is |
/// |---|---|
/// | `ble_links` | links that are up, by peripheral |
/// | `ble_connect_seconds` | how long it took to get a link: a histogram |
/// | `ble_connect_failures_total`, `ble_links_lost_total`, `ble_reconnects_total` | by peripheral |
/// | `ble_reconnect_seconds` | how long a session was without its peripheral: a histogram |
/// | `ble_operation_seconds`, `ble_operation_failures_total` | durations and failures, by operation |
/// | `ble_values_total`, `ble_dropped_total` | notifications and indications, and dropped PDUs, by peripheral |
/// | `ble_rssi_dbm` | the signal strength of a link when it was read last, by peripheral |
/// | `ble_queue_commands` | commands in a queue, by peripheral |
/// | `ble_session_failures_total`, `ble_adapter_troubles_total` | failed sessions, and faults of adapters |
///
/// Its size is limited: from the 257th peripheral and the 65th operation on, they are counted together as `other`, which
/// has no signal strength.
public final class MetricsPage: EventHandler {
    private static let peripheralLimit = 256
    private static let operationLimit = 64

    private struct State {
        /// By the octets of their addresses: a peripheral that was named without the kind of its address may prove to
        /// have the other one, and Prometheus refuses a second line with the same label.
        var peripherals: [UInt64: MetricsOfPeripheral] = [:]
        var others = MetricsOfPeripheral()
        /// Those of the others to which there is a link.
        var linkedOthers: Set<UInt64> = []
        /// How many commands each of the others has, if any.
        var queuesOfOthers: [UInt64: Int] = [:]
        var operations: [String: MetricsOfOperation] = [:]
        var connecting = DurationHistogram()
        var reconnecting = DurationHistogram()
        var sessionFailures = 0
        var adapterTroubles = 0

        mutating func addToOthers(_ event: Central.Event) {
            others.add(event.kind)
            // That of one of them says nothing of the others.
            others.signal = nil
            guard let peripheral = event.peripheral?.rawValue else { return }
            switch event.kind {
            case .connected: linkedOthers.insert(peripheral)
            // This is told also of a link that was lost before anybody got it, and whose beginning nobody was told.
            case .disconnected: linkedOthers.remove(peripheral)
            case .queue(let count):
                queuesOfOthers[peripheral] = count == 0 ? nil : count
                others.commands = queuesOfOthers.values.reduce(0, +)
                return
            default: return
            }
            others.links = linkedOthers.count
        }
    }

    private let state = Mutex(State())

    /// Makes an empty page.
    public init() {}

    /// Counts an event.
    public func handle(_ event: Central.Event) {
        state.withLock { state in
            switch event.kind {
            case .connected(let time): state.connecting.add(time)
            case .reconnected(let time): state.reconnecting.add(time)
            case .operation(let name, let time, let error):
                let key = state.operations[name] != nil || state.operations.count < Self.operationLimit ? name : "other"
                state.operations[key, default: MetricsOfOperation()].add(time, failed: error != nil)
            case .session(.failed): state.sessionFailures += 1
            case .adapter(let trouble): if trouble.isFault { state.adapterTroubles += 1 }
            default: break
            }
            guard let peripheral = event.peripheral?.rawValue else {
                state.addToOthers(event)
                return
            }
            if state.peripherals[peripheral] == nil, state.peripherals.count >= Self.peripheralLimit {
                state.addToOthers(event)
            } else {
                state.peripherals[peripheral, default: MetricsOfPeripheral()].add(event.kind)
            }
        }
    }

    /// The page, in Prometheus' text format. Source: Prometheus, "Exposition formats", version 0.0.4.
    public var text: String {
        let state = state.withLock { $0 }
        var writer = MetricsWriter()
        let all =
            state.peripherals.sorted { $0.key < $1.key }.map { (Self.label($0.key), $0.value) }
            + (state.others.isEmpty ? [] : [("other", state.others)])
        for metric in MetricsOfPeripheral.metrics {
            writer.begin(metric.name, metric.type, metric.help)
            for (name, counts) in all {
                if let value = counts[keyPath: metric.value] { writer.add(metric.name, "peripheral", name, value) }
            }
        }
        writer.histogram("ble_connect_seconds", "How long it took to get a link.", [("", "", state.connecting)])
        writer.histogram(
            "ble_reconnect_seconds",
            "How long a session was without its peripheral.",
            [("", "", state.reconnecting)]
        )
        let operations = state.operations.sorted { $0.key < $1.key }
        writer.histogram(
            "ble_operation_seconds",
            "How long operations took, with the wait for their turn.",
            operations.map { ("operation", $0.key, $0.value.durations) }
        )
        writer.begin("ble_operation_failures_total", "counter", "Operations that failed.")
        for (name, counts) in operations {
            writer.add("ble_operation_failures_total", "operation", name, counts.failures)
        }
        writer.begin("ble_session_failures_total", "counter", "Sessions that were given up.")
        writer.add("ble_session_failures_total", "", "", state.sessionFailures)
        writer.begin("ble_adapter_troubles_total", "counter", "Faults of adapters that were noticed.")
        writer.add("ble_adapter_troubles_total", "", "", state.adapterTroubles)
        return writer.text
    }

    /// An address, which is written without its kind.
    private static func label(_ octets: UInt64) -> String { "\(BluetoothAddress(rawValue: octets, kind: .public))" }
}

extension AdapterTrouble {
    fileprivate var isFault: Bool {
        switch self {
        case .noticed: true
        case .ofOne(_, let trouble): trouble.isFault
        default: false
        }
    }
}

/// The metrics of one peripheral.
private struct MetricsOfPeripheral: Sendable {
    var links: Int?
    var failures: Int?
    var lost: Int?
    var reconnects: Int?
    var values: Int?
    var dropped: Int?
    var signal: Int?
    var commands: Int?

    static var metrics: [(name: String, type: String, help: String, value: KeyPath<Self, Int?>)] {
        [
            ("ble_links", "gauge", "Links that are up.", \.links),
            ("ble_connect_failures_total", "counter", "Attempts to get a link that failed.", \.failures),
            ("ble_links_lost_total", "counter", "Links that ended and were not closed by this side.", \.lost),
            ("ble_reconnects_total", "counter", "Times that a session got its peripheral again.", \.reconnects),
            ("ble_values_total", "counter", "Notifications and indications that came.", \.values),
            ("ble_dropped_total", "counter", "PDUs that were dropped before the library could have them.", \.dropped),
            ("ble_rssi_dbm", "gauge", "Signal strength of a link, when it was read last.", \.signal),
            ("ble_queue_commands", "gauge", "Commands in a queue.", \.commands),
        ]
    }

    var isEmpty: Bool { Self.metrics.allSatisfy { self[keyPath: $0.value] == nil } }

    /// Counts an event of a peripheral, which has one link at a time.
    mutating func add(_ kind: Central.Event.Kind) {
        switch kind {
        case .connected: links = 1
        case .disconnected(let reason, _):
            links = 0
            if reason.kind != .closedLocally { lost = (lost ?? 0) + 1 }
        case .connectFailed: failures = (failures ?? 0) + 1
        case .reconnected: reconnects = (reconnects ?? 0) + 1
        case .values(let count): values = (values ?? 0) + count
        case .dropped(let count): dropped = (dropped ?? 0) + count
        case .signal(let rssi): signal = rssi
        case .queue(let count): commands = count
        case .operation, .session, .adapter: break
        }
    }
}

private struct MetricsOfOperation: Sendable {
    var durations = DurationHistogram()
    var failures = 0

    mutating func add(_ time: Duration, failed: Bool) {
        durations.add(time)
        if failed { failures += 1 }
    }
}

/// A histogram of durations.
private struct DurationHistogram: Sendable {
    /// The upper bounds in milliseconds.
    static let bounds = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]

    private(set) var counts = [Int](repeating: 0, count: bounds.count)
    private(set) var count = 0
    private(set) var sum = Duration.zero

    mutating func add(_ time: Duration) {
        count += 1
        sum += time
        if let place = Self.bounds.firstIndex(where: { time <= .milliseconds($0) }) { counts[place] += 1 }
    }
}

/// Writes the lines of a page.
private struct MetricsWriter {
    private(set) var text = ""

    mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ label: String, _ value: String, _ number: some CustomStringConvertible) {
        let labels = label.isEmpty ? "" : "{\(label)=\"\(Self.escaped(value))\"}"
        text += "\(name)\(labels) \(number)\n"
    }

    mutating func histogram(_ name: String, _ help: String, _ rows: [(label: String, value: String, DurationHistogram)])
    {
        begin(name, "histogram", help)
        for (label, value, durations) in rows {
            let first = label.isEmpty ? "" : "\(label)=\"\(Self.escaped(value))\","
            var sum = 0
            for (bound, count) in zip(DurationHistogram.bounds, durations.counts) {
                sum += count
                text += "\(name)_bucket{\(first)le=\"\(Double(bound) / 1000)\"} \(sum)\n"
            }
            text += "\(name)_bucket{\(first)le=\"+Inf\"} \(durations.count)\n"
            let (seconds, attoseconds) = durations.sum.components
            add("\(name)_sum", label, value, Double(seconds) + Double(attoseconds) / 1e18)
            add("\(name)_count", label, value, durations.count)
        }
    }

    /// By scalars: a line end of two of them, or a quotation mark with an accent, is one character.
    private static func escaped(_ value: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += #"\\"#.unicodeScalars
            case "\"": escaped += #"\""#.unicodeScalars
            case "\n": escaped += #"\n"#.unicodeScalars
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
