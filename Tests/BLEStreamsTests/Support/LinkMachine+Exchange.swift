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
}
