import BLEProtocol
import Synchronization
import Testing

@testable import BLEStreams

/// What becomes of values that come while nobody knows whether the handle still means what it meant.
@Suite struct DeliveryGateTests {
    private final class Consumer: Sendable {
        let taken = Mutex<[UInt8]>([])
        let lost = Mutex(0)

        var gate: DeliveryGate {
            DeliveryGate(
                forward: { values in self.taken.withLock { $0 += values.map { $0[0] } } },
                lose: { count in self.lost.withLock { $0 += count } }
            )
        }
    }

    private func value(_ octet: UInt8) -> CharacteristicValue {
        CharacteristicValue(bytes: [octet], time: ReceptionTime(sinceEpoch: .zero, source: .simulation))
    }

    @Test func `values wait behind a closed gate, and go on in order`() {
        let consumer = Consumer()
        let gate = consumer.gate
        gate.deliver([value(1)])
        gate.close()
        #expect(gate.isShut)
        gate.deliver([value(2), value(3)])
        gate.deliver([value(4)])
        #expect(consumer.taken.withLock { $0 } == [1])
        gate.open(forwarding: true)
        gate.deliver([value(5)])
        #expect(consumer.taken.withLock { $0 } == [1, 2, 3, 4, 5] && consumer.lost.withLock { $0 } == 0)
    }

    @Test func `values that may be somebody else's are counted, not delivered`() {
        let consumer = Consumer()
        let gate = consumer.gate
        gate.close()
        gate.deliver([value(1), value(2)])
        gate.open(forwarding: false)
        gate.deliver([value(3)])
        #expect(consumer.taken.withLock { $0 } == [3] && consumer.lost.withLock { $0 } == 2)
    }

    @Test func `a flood behind a closed gate takes no more than its room, and the rest is counted`() {
        let consumer = Consumer()
        let gate = consumer.gate
        gate.close()
        for _ in 0..<500 { gate.deliver([value(1), value(2), value(3)]) }
        gate.open(forwarding: true)
        #expect(consumer.taken.withLock { $0.count } == 1024)
        #expect(consumer.lost.withLock { $0 } == 1500 - 1024)
    }
}
