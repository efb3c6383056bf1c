import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// A subscription to a chosen service, put off by the peer's answer that its services may have changed.
@Suite struct PostponedSubscriptionTests {

    private static func database(at handle: UInt16) -> GATTDatabase { GATTDatabase(services: [.heartRate(at: handle)]) }

    /// A machine whose subscription was answered with Database Out Of Sync, and that reads the hash because of that.
    private static func postponed() -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(database(at: 1), of: [.heartRate])
        machine.subscribeToHeartRate(&output)
        let write = machine.send(&output)
        #expect(write == [0x12, 4, 0, 1, 0])
        machine.receive([0x01, 0x12, 4, 0, 0x12], &output)
        let read = machine.send(&output)
        #expect(read == [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B])
        return machine
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `it is made again where its characteristic is, once all services are known`(handle: UInt16) {
        var machine = Self.postponed()
        var output = LinkMachine.Output()
        let known = DatabaseTracker.Known(database: Self.database(at: handle), news: .first)
        machine.take(known, &output)
        // There is no hash; the discovery that follows comes behind.
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let write = machine.send(&output)
        #expect(write == [0x12, UInt8(handle) + 3, 0, 1, 0])
        machine.receive([0x13], &output)
        let notices = output.rest?.notices ?? []
        let isArmed = notices.contains { if case .armed = $0 { true } else { false } }
        #expect(isArmed)
    }

    @Test func `it ends with the error when the services can't be discovered`() {
        var machine = Self.postponed()
        var output = LinkMachine.Output()
        machine.failSubscriptions(.cancelled, &output)
        let notices = output.rest?.notices ?? []
        let hasEnded = notices.contains { if case .ended(_, .procedure?) = $0 { true } else { false } }
        #expect(hasEnded)
    }

    @Test func `who subscribes before an end that is put off, and then needless, is told that it is made`() {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(Self.database(at: 1), of: [.heartRate])
        machine.subscribeToHeartRate(&output)
        _ = machine.send(&output)
        machine.receive([0x13], &output)
        machine.unsubscribe(1, &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 4, 0, 0, 0])
        machine.subscribeToHeartRate(&output)
        machine.receive([0x01, 0x12, 4, 0, 0x12], &output)
        output = LinkMachine.Output()
        machine.take(DatabaseTracker.Known(database: Self.database(at: 1), news: .unchanged), &output)
        let notices = output.rest?.notices ?? []
        let isArmed = notices.contains { if case .armed = $0 { true } else { false } }
        #expect(isArmed && machine.routes[3] != nil)
    }
}
