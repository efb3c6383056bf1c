import Foundation
import Synchronization
import TestBroker
import Testing

@testable import MQTT

@Suite("A client whose subscriptions a broker refuses", .timeLimit(.minutes(5)))
struct RefusedSubscriptionTests {
    @Test("subscribes again, and has them when the broker's rules have changed, on the same connection")
    func again() async throws {
        let broker = RefusingBroker(refusals: 5)
        var settings = MQTTSettings(host: "127.0.0.1", port: broker.port, clientID: "client")
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(20))
        settings.subscriptions = ["own"]
        let recorder = Recorder(["a", "b"], last: "client")
        let client = MQTTClient(settings, outbox: recorder)
        try await running(client) { await recorder.wait { $0.confirmed == 3 } }
        #expect(client.counts.connections == 1)
        #expect(recorder.now.connections == 1)
        // Three at first, and each until it is granted.
        #expect(broker.subscriptions.count == 8)
        #expect(Set(broker.subscriptions) == ["own", "a", "b"])
    }
}

/// A broker that refuses the first subscriptions of its only client, and grants later ones.
private final class RefusingBroker: Sendable {
    let port: Int
    private let topics = Mutex<[String]>([])
    private let refusals: Int

    /// The topics of all subscriptions that came.
    var subscriptions: [String] { topics.withLock { $0 } }

    init(refusals: Int) {
        let (listener, port) = listeningSocket()
        (self.port, self.refusals) = (port, refusals)
        Thread.detachNewThread { [self] in
            let client = accept(listener, nil, nil)
            serve(client)
            for socket in [client, listener] { close(socket) }
        }
    }

    private func serve(_ client: Int32) {
        while let (type, body) = packet(from: client) {
            switch type {
            // CONNECT, and CONNACK: accepted, without properties.
            case 0x10: answer([0x20, 3, 0, 0, 0], client)
            case 0x82: subscribe(body, client)
            // PINGREQ and PINGRESP.
            case 0xC0: answer([0xD0, 0], client)
            // DISCONNECT.
            case 0xE0: return
            default: break
            }
        }
    }

    /// SUBSCRIBE, with its number, no properties and one topic; and SUBACK.
    private func subscribe(_ body: [UInt8], _ client: Int32) {
        let length = Int(body[3]) << 8 | Int(body[4])
        let topic = String(decoding: body[5..<(5 + length)], as: UTF8.self)
        let count = topics.withLock { topics in
            topics.append(topic)
            return topics.count
        }
        answer([0x90, 4, body[0], body[1], 0, count <= refusals ? 0x87 : 1], client)
    }

    private func answer(_ octets: [UInt8], _ client: Int32) {
        _ = send(client, octets, octets.count, Int32(MSG_NOSIGNAL))
    }

    /// The next packet: its type with the flags, and what follows its length, which is below 128; `nil` at the end.
    private func packet(from client: Int32) -> (type: UInt8, body: [UInt8])? {
        guard let head = octets(2, from: client), let body = octets(Int(head[1]), from: client) else { return nil }
        return (head[0], body)
    }

    private func octets(_ count: Int, from client: Int32) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        let received = count == 0 ? 0 : recv(client, &octets, count, Int32(MSG_WAITALL))
        return received == count ? octets : nil
    }
}
