import BLEStreams
import Foundation
import MQTT
import Spool
import Synchronization

/// What is known about the gateway itself.
final class Health: Sendable {
    let page = MetricsPage()
    private let spool: Spool
    private let outbox: Outbox
    private let sessions: Sessions
    private let troubles: Troubles
    private let leases: LeaseDriver?
    private let sparkplug: SparkplugDriver?
    private let began = ContinuousClock.now
    private let client = Mutex<MQTTClient?>(nil)

    init(
        _ spool: Spool,
        _ outbox: Outbox,
        _ sessions: Sessions,
        _ troubles: Troubles,
        _ leases: LeaseDriver?,
        _ sparkplug: SparkplugDriver?
    ) {
        self.spool = spool
        self.outbox = outbox
        self.sessions = sessions
        self.troubles = troubles
        self.leases = leases
        self.sparkplug = sparkplug
    }

    func use(_ client: MQTTClient) { self.client.withLock { $0 = client } }

    /// The record that is published.
    var record: JSONText {
        let counts = spool.counts.growing
        let broker = client.withLock { $0 }?.counts ?? MQTTCounts()
        return .object(
            ("time", .plain((Date().timeIntervalSince1970 * 1000).rounded() / 1000)),
            ("uptime", .number(Int((ContinuousClock.now - began).components.seconds))),
            ("records", .object(counts.members)),
            (
                "broker",
                .object(
                    ("connections", .number(broker.connections)),
                    ("sent", .number(broker.sent)),
                    ("acknowledged", .number(broker.acknowledged)),
                    ("refused", .number(broker.refused)),
                    ("received", .number(broker.received)),
                    ("dropped", .number(broker.dropped))
                )
            ),
            ("peripherals", .object(sessions.states.map { ($0.label, .string($0.state)) })),
            ("troubles", .object(troubles.all.map { ($0.name, .string($0.trouble.text)) })),
            ("leases", leases?.health),
            ("sparkplug", sparkplug?.health)
        )
    }

    /// The page for Prometheus.
    var text: String {
        let counts = spool.counts.growing
        let broker = client.withLock { $0 }?.counts ?? MQTTCounts()
        var text = page.text
        func add(_ name: String, _ type: String, _ help: String, _ value: Int) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
        }
        add("gateway_records_total", "counter", "Records that came.", counts.appended)
        add("gateway_records_acknowledged_total", "counter", "Records that a broker has.", counts.acknowledged)
        add("gateway_records_dropped_total", "counter", "Records that were dropped.", counts.dropped)
        add("gateway_records_refused_total", "counter", "Records that found no room on the disk.", counts.refused)
        add("gateway_records_spooled", "gauge", "Records that wait, or are in flight.", counts.spooled)
        add("gateway_spool_bytes", "gauge", "The size of the spool.", counts.octets)
        add("gateway_broker_up", "gauge", "Whether there is a connection to the broker.", outbox.isConnected ? 1 : 0)
        add("gateway_broker_connections_total", "counter", "Connections to the broker.", broker.connections)
        add("gateway_messages_refused_total", "counter", "Messages that the broker refused.", outbox.counts.refused)
        add("gateway_replies_dropped_total", "counter", "Replies and states that were dropped.", outbox.counts.dropped)
        if let counts = sparkplug?.spool.counts.growing {
            add("gateway_sparkplug_records_total", "counter", "Records for Sparkplug hosts.", counts.appended)
            add("gateway_sparkplug_records_sent_total", "counter", "Of these, those sent.", counts.acknowledged)
            add("gateway_sparkplug_records_dropped_total", "counter", "Of these, those dropped.", counts.dropped)
            add("gateway_sparkplug_records_spooled", "gauge", "Of these, those that wait.", counts.spooled)
        }
        text += troublesText
        guard let leases = leases?.counts else { return text }
        add("gateway_leases_up", "gauge", "Whether the leases' broker is there.", leases.isConnected ? 1 : 0)
        add("gateway_leases_followed", "gauge", "Peripherals whose lease is followed.", leases.followed)
        add("gateway_leases_held", "gauge", "Leases that this gateway holds.", leases.held)
        add("gateway_leases_gained_total", "counter", "Leases that it began to hold.", leases.gained)
        add("gateway_leases_lost_total", "counter", "Leases that it stopped holding.", leases.lost)
        add(
            "gateway_leases_unreachable_total",
            "counter",
            "Leases released because the peripheral could not be connected to.",
            leases.unreachable
        )
        add("gateway_leases_fenced_total", "counter", "Messages dropped because a lease was over.", leases.fenced)
        return text
    }
}

extension Health {
    /// The troubles, for Prometheus: one line for each peripheral that has one.
    private var troublesText: String {
        let name = "gateway_peripheral_trouble"
        let help = "Peripherals that are not ready until a person does something."
        return troubles.all.reduce(into: "# HELP \(name) \(help)\n# TYPE \(name) gauge\n") { text, one in
            text += "\(name){peripheral=\"\(Self.escaped(one.name))\",code=\"\(one.trouble.code)\"} 1\n"
        }
    }

    /// The value of a label of Prometheus, made of one that the configuration may have with any characters.
    private static func escaped(_ value: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            if scalar == "\\" || scalar == "\"" { escaped.append("\\") }
            if scalar == "\n" { escaped += "\\n".unicodeScalars } else { escaped.append(scalar) }
        }
        return String(escaped)
    }
}

extension SpoolCounts {
    /// The same, with what was dropped in flight as still in flight, until its acknowledgement can't come any more: the
    /// other counts never fall. Whoever adds up what a counter has grown by, as Prometheus does, takes one that has
    /// fallen for one that has begun again, and adds all of it.
    var growing: SpoolCounts {
        var counts = self
        counts.spooled += late
        counts.dropped -= late
        counts.late = 0
        return counts
    }

    /// The counts as members of an object.
    var members: [(String, JSONText)] {
        [
            ("appended", .number(appended)), ("acknowledged", .number(acknowledged)), ("spooled", .number(spooled)),
            ("dropped", .number(dropped)), ("refused", .number(refused)), ("octets", .number(octets)),
        ]
    }
}
