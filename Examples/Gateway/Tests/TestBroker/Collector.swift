import Foundation

/// A subscriber of everything, with a session that outlives the broker's restarts: it sees what the broker accepts.
public final class Collector: Sendable {
    /// Where mosquitto_sub is.
    public static let program = ["/usr/bin/mosquitto_sub", "/usr/local/bin/mosquitto_sub"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    private let subscriber: RunningProgram
    private static let mark = "#### "

    /// Starts it, and returns when it has subscribed.
    ///
    /// - Parameter payload: how it prints a payload: `%p` as it is, `%x` in hexadecimal.
    public init(on broker: Broker, topic: String = "#", payload: String = "%p") async throws {
        subscriber = try RunningProgram(
            Self.program ?? "mosquitto_sub",
            [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-i", "collector", "-c", "-x", "86400", "-q", "1",
                "-t", topic, "-F", Self.mark + "%r %t \(payload)",
            ]
        )
        try await broker.waitForSubscription(of: "collector")
    }

    deinit { subscriber.signal(SIGKILL) }

    /// The next message: whether it was retained, the topic and the payload.
    public func next() async -> (isRetained: Bool, topic: String, payload: String)? {
        while let line = await subscriber.next() {
            guard line.hasPrefix(Self.mark) else { continue }
            let parts = line.dropFirst(Self.mark.count).split(separator: " ", maxSplits: 2)
            guard parts.count >= 2 else { continue }
            return (parts[0] == "1", String(parts[1]), parts.count > 2 ? String(parts[2]) : "")
        }
        return nil
    }
}
