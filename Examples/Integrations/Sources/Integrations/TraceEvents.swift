public import BLEStreams
import Tracing

/// Makes a swift-distributed-tracing span for each operation: a child of the current span of the calling task.
public struct TraceEvents: EventHandler {
    public init() {}

    public func handle(_ event: Central.Event) {
        guard case .operation(let name, let time, let error) = event.kind else { return }
        let end = event.time.sinceEpoch
        let span = startSpan("ble \(name)", at: Moment(end - time), ofKind: .client)
        if let peripheral = event.peripheral { span.attributes["ble.peripheral"] = "\(peripheral)" }
        span.attributes["ble.characteristic"] = "\(event.object)"
        if let error { span.recordError(error) }
        span.end(at: Moment(end))
    }

    private struct Moment: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        init(_ sinceEpoch: Duration) {
            let (seconds, attoseconds) = sinceEpoch.components
            nanosecondsSinceEpoch = UInt64(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }

        static func < (left: Moment, right: Moment) -> Bool {
            left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
        }
    }
}
