public import BLEStreams
public import Logging

/// Writes the events of a central to a swift-log logger: `Central.open(.default.reporting(to: LogEvents(logger)))`.
///
/// Normal work is logged at `debug` and `trace`.
public struct LogEvents: EventHandler {
    private let logger: Logger

    public init(_ logger: Logger) { self.logger = logger }

    public func handle(_ event: Central.Event) {
        let peripheral: Logger.Metadata = event.peripheral.map { ["peripheral": "\($0)"] } ?? [:]
        logger.log(level: level(event.level), "\(event)", metadata: peripheral)
    }

    private func level(_ level: Central.Event.Level) -> Logger.Level {
        switch level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
