import Foundation
import Sparkplug
import TestBroker

@testable import Gateway

/// A host for Sparkplug B: checks the order that the standard asks for, and keeps what it is told.
final class SparkplugHost {
    /// What a message meant.
    struct Event: CustomStringConvertible {
        var type: String
        var device: String?
        var metrics: [SparkplugMetric]
        var description: String { [type, device].compactMap(\.self).joined(separator: " ") }
    }

    /// What the node did that the standard forbids.
    private(set) var complaints: [String] = []
    /// The metrics of the devices that are there, by device and name.
    private(set) var devices: [String: [String: SparkplugMetric]] = [:]
    private let collector: Collector
    private var sequence: UInt8?
    private var births: SparkplugValue?

    init(on broker: Broker) async throws {
        collector = try await Collector(on: broker, topic: "spBv1.0/plant/#", payload: "%x")
    }

    /// The next message of the node; `nil` at the end.
    func next() async -> Event? {
        while let message = await collector.next() {
            let levels = message.topic.split(separator: "/").map(String.init)
            if message.isRetained { complaints.append("\(message.topic) is retained") }
            guard levels.count >= 4, levels[2] != "NCMD", let octets = octets(hex: message.payload),
                let payload = try? SparkplugPayload(decoding: octets)
            else { continue }
            let event = Event(type: levels[2], device: levels.dropFirst(4).first, metrics: payload.metrics)
            judge(event, payload.sequence)
            return event
        }
        return nil
    }

    /// The next message of a type.
    func next(_ type: String) async -> Event? {
        while let event = await next() { if event.type == type { return event } }
        return nil
    }

    private func judge(_ event: Event, _ number: UInt8?) {
        let expected: UInt8? =
            switch event.type {
            case "NBIRTH": 0
            case "NDEATH": nil
            default: sequence.map { $0 &+ 1 }
            }
        if number != expected {
            complaints.append(
                "\(event) has \(number.map { "\($0)" } ?? "no number"), not \(expected.map { "\($0)" } ?? "none")"
            )
        }
        if event.type != "NDEATH" { sequence = number }
        let named = Dictionary(event.metrics.map { ($0.name, $0) }) { $1 }
        let device = event.device ?? ""
        switch event.type {
        case "NBIRTH": (births, devices) = (named["bdSeq"]?.value, [:])
        case "NDEATH":
            // Of a connection that was replaced, it says nothing.
            if named["bdSeq"]?.value == births { (devices, sequence) = ([:], nil) }
        case "DBIRTH": devices[device] = named
        case "DDATA":
            for (name, metric) in named {
                guard devices[device]?[name]?.value.type == metric.value.type else {
                    complaints.append("\(event) has \(name), which isn't declared")
                    continue
                }
                if !metric.isHistorical { devices[device]?[name] = metric }
            }
        case "DDEATH":
            if devices.removeValue(forKey: device) == nil { complaints.append("\(event) isn't there") }
        default: complaints.append("\(event) is unknown")
        }
    }
}
