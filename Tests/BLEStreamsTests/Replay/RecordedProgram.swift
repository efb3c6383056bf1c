import BLEProtocol
import BLESimulator
import BLEStreams
import Foundation

/// What the program of a recording did on one link, and what it was sent: to be done again on the replay.
struct RecordedProgram: Sendable {
    /// A write, at a time since the beginning of the link.
    struct Write: Sendable {
        var time: Duration
        var handle: UInt16
        var value: [UInt8]
        var kind: Link.WriteKind
    }

    /// A value that came, or the beginning or end of a subscription, by the value's handle.
    struct Subscription: Sendable {
        var begin: Duration
        var end: Duration
        var handle: UInt16
    }

    /// A value that a peripheral sent by itself.
    struct Value: Hashable, Sendable {
        var handle: UInt16
        var octets: [UInt8]
    }

    private(set) var writes: [Write] = []
    private(set) var subscriptions: [Subscription] = []
    /// What was sent to it while it was subscribed.
    private(set) var values: [Value] = []
    private(set) var duration: Duration

    /// - Parameter configurations: the handles of values by those of their configurations.
    init(_ link: CapturedTraffic.Link, _ configurations: [UInt16: UInt16]) {
        duration = (link.pdus.last?.time ?? link.begin) - link.begin
        var open: [UInt16: Duration] = [:]
        for pdu in link.pdus where pdu.octets.count >= 3 {
            let (time, octets) = (pdu.time - link.begin, pdu.octets)
            let handle = UInt16(octets[1]) | UInt16(octets[2]) << 8
            switch (pdu.isFromPeripheral, octets[0]) {
            case (false, 0x12), (false, 0x52):
                let value = Array(octets[3...])
                if let subscribed = configurations[handle] {
                    let isOn = value.first.map { $0 & 3 != 0 } ?? false
                    if isOn, open[subscribed] == nil { open[subscribed] = time }
                    if !isOn, let begin = open.removeValue(forKey: subscribed) {
                        subscriptions.append(Subscription(begin: begin, end: time, handle: subscribed))
                    }
                } else {
                    let kind: Link.WriteKind = octets[0] == 0x12 ? .withResponse : .withoutResponse
                    writes.append(Write(time: time, handle: handle, value: value, kind: kind))
                }
            case (true, 0x1B), (true, 0x1D):
                if open[handle] != nil { values.append(Value(handle: handle, octets: Array(octets[3...]))) }
            default: break
            }
        }
        subscriptions += open.map { Subscription(begin: $1, end: duration + .seconds(2), handle: $0) }
        subscriptions.sort { ($0.begin, $0.handle) < ($1.begin, $1.handle) }
    }

    /// Does the same again on a link, each thing at its time; returns what comes meanwhile.
    func run(on link: Link, _ database: GATTDatabase, _ time: VirtualTime) async throws -> [Value] {
        let characteristics = database.services.flatMap(\.characteristics)
        let received = Recorder<Value>()
        let begin = time.now
        @Sendable func wait(until moment: Duration) async throws {
            let rest = begin + moment - time.now
            if rest > .zero { try await time.sleep(for: rest) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for subscription in subscriptions {
                guard let characteristic = characteristics.first(where: { $0.valueHandle == subscription.handle })
                else { continue }
                group.addTask {
                    try await wait(until: subscription.begin)
                    let rest = begin + subscription.end - time.now
                    for try await value in link.notifications(of: characteristic).prefix(for: rest) {
                        received.add(Value(handle: subscription.handle, octets: Array(value)))
                    }
                }
            }
            group.addTask {
                for write in writes {
                    try await wait(until: write.time)
                    try await perform(write, on: link, characteristics)
                }
            }
            try await group.waitForAll()
        }
        return received.all
    }

    /// What was refused then is refused now.
    private func perform(_ write: Write, on link: Link, _ characteristics: [Characteristic]) async throws {
        do {
            if let characteristic = characteristics.first(where: { $0.valueHandle == write.handle }) {
                try await link.write(write.value, to: characteristic, write.kind)
            } else if let descriptor = characteristics.flatMap(\.descriptors).first(where: { $0.handle == write.handle }
            ) {
                try await link.write(write.value, to: descriptor)
            }
        } catch let error as BLEError where error.attError != nil {}
    }
}

extension GATTDatabase {
    /// The handles of values by those of their Client Characteristic Configurations.
    var configurations: [UInt16: UInt16] {
        let pairs = services.flatMap(\.characteristics).flatMap { characteristic in
            characteristic.descriptors.filter { $0.uuid == BluetoothUUID(0x2902) }
                .map { ($0.handle, characteristic.valueHandle) }
        }
        return Dictionary(pairs) { first, _ in first }
    }
}
