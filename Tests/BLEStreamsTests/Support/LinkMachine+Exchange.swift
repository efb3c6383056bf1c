import BLEProtocol
import BLERadio

@testable import BLEStreams

extension LinkMachine {
    /// Takes a PDU of the peer's.
    mutating func receive(_ pdu: [UInt8], _ output: inout Output) {
        _ = received(pdu, at: ReceptionTime(sinceEpoch: .zero, source: .simulation), &output)
    }

    /// Sends the next PDU, and returns it; `nil` if there is none.
    mutating func send(_ output: inout Output) -> [UInt8]? {
        guard let outgoing = nextOutgoing() else { return nil }
        handedOver(outgoing, .sent, &output)
        return outgoing.pdu
    }

    /// Makes a step, and does what a driver does with the values and with what is told of them.
    mutating func carryOut(_ step: (inout LinkMachine, inout Output) -> Void) {
        var output = Output()
        step(&self, &output)
        for delivery in output.deliveries {
            for consumer in delivery.consumers { consumer.deliver(delivery.values) }
        }
        for notice in output.rest?.notices ?? [] {
            switch notice {
            case .lost(let consumer, let count): consumer.lost(count)
            case .mayLack(let consumer): consumer.mayLack()
            case .withheld(let consumer): consumer.withheld()
            case .values(let consumer, let values): consumer.deliver(values)
            case .held(let consumer, let id): handOver(id, to: consumer)
            case .ended(let consumer, _): consumer.finish(nil)
            case .begun, .armed, .registered, .moved: break
            }
        }
    }

    private mutating func handOver(_ id: Subscription.ID, to consumer: ValueConsumer) {
        while let held = takeHeld(id) {
            if !held.values.isEmpty { consumer.deliver(held.values) }
            if held.lost > 0 { consumer.lost(held.lost) }
            if held.mayLackMore { consumer.mayLack() }
            if held.isWithheld { consumer.withheld() }
        }
    }
}
