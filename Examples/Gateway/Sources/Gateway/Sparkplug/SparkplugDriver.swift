import Foundation
import MQTT
import Sparkplug
import Spool
import Synchronization

/// Publishes the values for hosts that speak Sparkplug B, on a connection and from a spool of its own.
///
/// The standard has all but the death certificate sent at QoS 0: a record counts as acknowledged when it is given to
/// the connection.
final class SparkplugDriver: Sendable {
    struct State {
        var node: EdgeNode
        /// What goes before the next record.
        var waiting: [MQTTOutgoing] = []
        var tokens: UInt64 = 0
        /// What has a lower number was recorded before the hosts could have it: before this connection, or while the
        /// primary host was away. `nil`: they can't have anything yet.
        var liveFrom: UInt64?
        /// Whether each device is there, and since when.
        var devices: [String: (isOnline: Bool, since: UInt64)] = [:]
        /// Whether records were lost that may have been of devices which the hosts must hear of.
        var hasLost = false
        var client: MQTTClient?
        var isOver = false
        var refused = RefusedRecords()
        var refusals = Refusals()
        /// Why the spool couldn't be read last, if that is so still; each reason is reported once.
        var failure: SpoolError?
    }

    let names: SparkplugNames
    let spool: Spool
    let births: BirthNumber
    let report: @Sendable (String) -> Void
    /// What is settled can't be written to the spool.
    let settling: LastingError
    /// The number of the next certificates can't be stored.
    let storing: LastingError
    let now: @Sendable () -> UInt64
    let state: Mutex<State>

    /// - Parameters:
    ///   - settings: the section of the configuration.
    ///   - main: where the gateway's other records wait; this spool is beside it, and may become as large.
    ///   - now: the time in milliseconds since 1970.
    ///   - report: is told of errors.
    init(
        _ settings: Configuration.Sparkplug,
        beside main: Configuration.SpoolFolder,
        now: @escaping @Sendable () -> UInt64 = { UInt64(max(0, Date().timeIntervalSince1970 * 1000)) },
        report: @escaping @Sendable (String) -> Void
    ) throws {
        names = SparkplugNames(group: settings.group, node: settings.node, primaryHost: settings.primaryHost)
        // Before the spool, which only its first opening finds new.
        births = try BirthNumber(beside: main.folder)
        spool = try Spool(
            SpoolSettings(
                folder: main.folder + ".sparkplug",
                limit: main.megabytes << 20,
                recordsPerSync: main.recordsPerSync
            )
        )
        self.report = report
        settling = LastingError { report("sparkplug: \($0)") }
        storing = LastingError { report("sparkplug: \($0)") }
        self.now = now
        state = Mutex(State(node: EdgeNode(names, birth: births.next)))
        state.withLock { record(.started, &$0) }
    }

    // MARK: - The gateway's side

    /// A device is there, or is gone.
    func device(_ label: String, isOnline: Bool) {
        change { state in
            guard isOnline != state.devices[label]?.isOnline ?? false else { return }
            state.devices[label] = (isOnline, now())
            record(isOnline ? .online(label) : .offline(label), &state)
        }
    }

    /// A device has sent values.
    ///
    /// - Parameter time: when they were received, in milliseconds since 1970.
    func values(_ metrics: [SparkplugMetric], from label: String, at time: UInt64) {
        change { state in
            // The first values can come before the session is ready, and the last ones be read when it is over.
            let device = state.devices[label] ?? (false, 0)
            let isLate = !device.isOnline && time < device.since
            if !device.isOnline, !isLate { state.devices[label] = (true, time) }
            record(.values(label, metrics), &state)
            if isLate { record(.offline(label), &state) }
        }
    }

    /// Does something in the order of all callers, and lets the client send what came of it.
    private func change(_ change: (inout State) -> Void) {
        let client = state.withLock { state in
            change(&state)
            return state.client
        }
        client?.wake()
    }

    private func record(_ record: EdgeRecord, _ state: inout State) {
        do throws(SpoolError) {
            try spool.append(record.encoded)
            state.refused.stored()
        } catch {
            if let news = state.refused.news(error) { report("sparkplug: \(news)") }
        }
    }

    /// Sends no more.
    func end() { state.withLock { $0.isOver = true } }

    /// What has become of the records, for the health record.
    var health: JSONText { .object(spool.counts.growing.members) }
}
