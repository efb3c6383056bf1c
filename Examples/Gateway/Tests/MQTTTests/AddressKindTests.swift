import Synchronization
import TestBroker
import Testing

@testable import MQTT

/// A broker whose name has addresses of IPv4 and of IPv6, and that is reached at those of one kind only.
@Suite(.timeLimit(.minutes(5))) struct AddressKindTests {
    private static let refusal = MQTTError(
        code: .unreachable,
        operation: "connect",
        object: "broker:1883",
        cause: "Connection refused",
        remedy: "Wait."
    )

    private func localAddresses(_ kinds: [AddressKind]) -> [String?] {
        (0..<4).map { failures in AddressKind.localAddress(after: failures) { kinds } }
    }

    @Test func `every second attempt is of the other kind, if there is one`() {
        #expect(localAddresses([.version6, .version4]) == [nil, "0.0.0.0", nil, "0.0.0.0"])
        #expect(localAddresses([.version4, .version6]) == [nil, "::", nil, "::"])
        for kinds: [AddressKind] in [[.version4], [.version6], []] {
            #expect(localAddresses(kinds) == [nil, nil, nil, nil])
        }
    }

    @Test func `the kinds of a broker's addresses are those that can be used`() {
        #expect(AddressKind.kinds(of: "127.0.0.1") == [.version4])
        for (address, kind) in [("127.0.0.1", AddressKind.version4), ("::1", .version6)] {
            let (all, none) = (
                AddressKind.kinds(of: address, isUsable: { _ in true }),
                AddressKind.kinds(of: address, isUsable: { _ in false })
            )
            #expect(all == [kind] && none == [])
        }
    }

    @Test(.enabled(if: Broker.program != nil, "\(Broker.skipReason)"))
    func `an attempt knows how many have failed, and a connection that was lost is made again in the same way`()
        async throws
    {
        let broker = try await Broker()
        let relay = try Relay(to: broker.port)
        var settings = MQTTSettings(host: "127.0.0.1", port: relay.port, clientID: "client")
        settings.backoff = Backoff(first: .milliseconds(10), most: .milliseconds(100))
        let attempts = Mutex<[Int]>([])
        let client = MQTTClient(settings, outbox: ListOutbox()) { settings, will, failures throws(MQTTError) in
            attempts.withLock { $0.append(failures) }
            guard failures > 0 else { throw Self.refusal }
            return try Connection.open(settings, will: will, failures: failures)
        }
        try await running(client) {
            _ = await client.events.first { if case .connected = $0 { true } else { false } }
            relay.cut()
            _ = await client.events.first { if case .connected = $0 { true } else { false } }
        }
        #expect(attempts.withLock { $0 } == [0, 1, 1])
    }
}
