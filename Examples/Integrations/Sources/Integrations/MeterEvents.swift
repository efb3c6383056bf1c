public import BLEStreams
import Metrics

/// Counts the events of a central with swift-metrics.
public struct MeterEvents: EventHandler {
    public init() {}

    public func handle(_ event: Central.Event) {
        let peripheral = event.peripheral.map { [("peripheral", "\($0)")] } ?? []
        switch event.kind {
        case .connected(let time): record("ble.connect", time)
        case .connectFailed: Counter(label: "ble.connect.failures", dimensions: peripheral).increment()
        case .disconnected(let reason, _):
            Counter(label: "ble.disconnects", dimensions: peripheral + [("reason", "\(reason.kind)")]).increment()
        case .operation(let name, let time, let error):
            record("ble.operation", time, [("operation", name), ("failed", "\(error != nil)")])
        case .values(let count): Counter(label: "ble.values", dimensions: peripheral).increment(by: count)
        case .dropped(let count): Counter(label: "ble.dropped", dimensions: peripheral).increment(by: count)
        case .signal(let rssi): Gauge(label: "ble.rssi", dimensions: peripheral).record(rssi)
        case .reconnected(let time): record("ble.reconnect", time, peripheral)
        case .queue(let depth): Gauge(label: "ble.queue", dimensions: peripheral).record(depth)
        case .session(.failed): Counter(label: "ble.session.failures", dimensions: peripheral).increment()
        case .session: break
        case .adapter: Counter(label: "ble.adapter.troubles").increment()
        }
    }

    private func record(_ label: String, _ time: Duration, _ dimensions: [(String, String)] = []) {
        let (seconds, attoseconds) = time.components
        Metrics.Timer(label: label, dimensions: dimensions)
            .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
