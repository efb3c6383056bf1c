import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Values of handles that nobody has subscribed to.
@Suite struct UnclaimedValuesTests {
    @Test(arguments: [1, 20])
    func `a peer that sends values of ever new handles doesn't have an operation for each`(changes: Int) {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.unclaimed.servicesWereKnown = true
        machine.claimsAreOver(&output)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        for _ in 0..<changes {
            for handle in 1...2000 as ClosedRange<UInt16> {
                let pdu = [0x1B, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 0]
                _ = machine.received(pdu, at: time, &output)
            }
            // Its services have changed, before the turn of any of them has come.
            machine.forgetUnclaimed()
        }
        #expect(machine.operations.count == LinkMachine.Unclaimed.mostTried)
        #expect(machine.unclaimed.tried.count == LinkMachine.Unclaimed.mostTried)
    }
}
