import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// A subscription to a chosen service, which the peer has confirmed, and signs that the peer's services have changed.
@Suite struct ArmedSubscriptionTests {
    private static let hashRequest: [UInt8] = [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B]

    /// All services, known for the first time.
    private static func known(_ handles: [UInt16]) -> DatabaseTracker.Known {
        DatabaseTracker.Known(database: GATTDatabase(services: handles.map { .heartRate(at: $0) }), news: .first)
    }

    /// A machine that is subscribed to the heart rate of a chosen service.
    private static func armed(at handle: UInt16 = 1) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(GATTDatabase(services: [.heartRate(at: handle)]), of: [.heartRate])
        machine.subscribeToHeartRate(&output)
        let write = machine.send(&output)
        #expect(write == [0x12, UInt8(handle) + 3, 0, 1, 0])
        machine.receive([0x13], &output)
        return machine
    }

    /// The same, after the answer Database Out Of Sync to a read; the hash is being read because of that.
    private static func outOfSync(at handle: UInt16 = 1) -> LinkMachine {
        var machine = armed(at: handle)
        var output = LinkMachine.Output()
        _ = machine.begin(.handles(ReadValue(handle: 0x30)), &output)
        let read = machine.send(&output)
        #expect(read == [0x0A, 0x30, 0])
        machine.receive([0x01, 0x0A, 0x30, 0, 0x12], &output)
        let request = machine.send(&output)
        #expect(request == hashRequest)
        return machine
    }

    /// All services, behind a change of those that ``armed(at:)`` was told of.
    private static func changed(
        to handle: UInt16,
        affected: ClosedRange<UInt16> = 0x0001...0xFFFF
    ) -> DatabaseTracker.Known {
        let before = GATTDatabase(services: [.heartRate(at: 1)])
        return DatabaseTracker.Known(
            database: GATTDatabase(services: [.heartRate(at: handle)]),
            news: .changed(before: before, affected: affected)
        )
    }

    private static func hasEnded(_ output: LinkMachine.Output) -> Bool {
        (output.rest?.notices ?? []).contains { if case .ended(_, .servicesChanged?) = $0 { true } else { false } }
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `out of sync, it is made again where its characteristic is`(handle: UInt16) {
        var machine = Self.outOfSync()
        var output = LinkMachine.Output()
        machine.take(Self.known([handle]), &output)
        // There is no hash; the discovery that follows comes behind.
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let write = machine.send(&output)
        #expect(write == [0x12, UInt8(handle) + 3, 0, 1, 0] && !Self.hasEnded(output))
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `behind a change that is told for other handles, it is made again only where its characteristic has moved`(
        handle: UInt16
    ) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.take(Self.changed(to: handle, affected: 0x0030...0x0040), &output)
        let write = machine.send(&output)
        let expected: [UInt8]? = handle == 1 ? nil : [0x12, 24, 0, 1, 0]
        #expect(write == expected)
    }

    @Test func `behind a change that is told for other handles, it ends if its characteristic is gone`() {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        let known = DatabaseTracker.Known(
            database: GATTDatabase(),
            news: .changed(before: GATTDatabase(services: [.heartRate(at: 1)]), affected: 0x0030...0x0040)
        )
        machine.take(known, &output)
        #expect(Self.hasEnded(output))
    }

    @Test(arguments: [0x0001...0xFFFF, 0x0030...0x0040] as [ClosedRange<UInt16>])
    func `that Service Changed has displaced, it moves, and both are made`(told: ClosedRange<UInt16>) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        let changed = Characteristic(
            uuid: BluetoothUUID.Characteristics.serviceChanged,
            properties: .indicate,
            handle: 2,
            valueHandle: 3,
            endHandle: 5,
            descriptors: [Descriptor(uuid: .clientCharacteristicConfiguration, handle: 5)]
        )
        let attributes = GATTService(uuid: .genericAttribute, handle: 1, endHandle: 5, characteristics: [changed])
        machine.shut(told)
        // It is subscribed to as soon as it is found, before the services are known.
        machine.subscribe(toServiceChanged: changed, &output)
        let known = DatabaseTracker.Known(
            database: GATTDatabase(services: [attributes, .heartRate(at: 21)]),
            news: .changed(before: GATTDatabase(services: [.heartRate(at: 1)]), affected: told)
        )
        machine.take(known, &output)
        let own = machine.send(&output)
        #expect(own == [0x12, 5, 0, 2, 0])
        machine.receive([0x13], &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 24, 0, 1, 0])
        #expect(machine.table.hasSubscriber(LinkMachine.own, valueHandle: 3))
    }

    @Test func `out of sync, it stays with its characteristic although another service has one of the same type`() {
        var machine = Self.outOfSync(at: 21)
        var output = LinkMachine.Output()
        machine.take(Self.known([1, 21]), &output)
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 24, 0, 1, 0])
    }

    @Test func `out of sync, it ends with the error if its characteristic is gone`() {
        var machine = Self.outOfSync()
        var output = LinkMachine.Output()
        machine.take(Self.known([]), &output)
        #expect(Self.hasEnded(output))
    }

    @Test func `out of sync, values wait until it is known whose they are`() {
        var machine = Self.outOfSync()
        var output = LinkMachine.Output()
        machine.receive([0x1B, 3, 0, 7], &output)
        #expect(output.deliveries.isEmpty)
        machine.take(Self.known([1]), &output)
        let before = machine.takeHeld(1)
        #expect(before?.values.isEmpty == true && before?.isWithheld == true)
        let held = machine.takeHeld(1)
        #expect(held?.values.map { Array($0) } == [[7]])
    }

    @Test func `a read that waits behind the one that was out of sync isn't sent to a handle of before`() {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        _ = machine.begin(.handles(ReadValue(handle: 0x30)), &output)
        _ = machine.begin(.handles(ReadValue(handle: 0x31)), &output)
        _ = machine.send(&output)
        machine.receive([0x01, 0x0A, 0x30, 0, 0x12], &output)
        let request = machine.send(&output)
        #expect(request == Self.hashRequest)
    }

    @Test func `one that begins behind a change that could not be looked at has the peer configured anew`() {
        var machine = Self.outOfSync()
        var output = LinkMachine.Output()
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let discovery = machine.send(&output)
        #expect(discovery?.first == 0x10)
        // Unlikely Error: the first one ends with that.
        machine.receive([0x01, 0x10, 0x01, 0x00, 0x0E], &output)
        #expect(machine.subscriptions.isEmpty && machine.routes.isEmpty)
        machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate])
        machine.subscribeToHeartRate(&output)
        let write = machine.send(&output)
        #expect(write == [0x12, 4, 0, 1, 0])
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `out of sync as its subscriber leaves, it is switched off only if it is still there`(handle: UInt16) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.unsubscribe(1, &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 4, 0, 0, 0])
        machine.receive([0x01, 0x12, 4, 0, 0x12], &output)
        let request = machine.send(&output)
        #expect(request == Self.hashRequest)
        machine.take(Self.changed(to: handle), &output)
        // There is no hash; the discovery that follows comes behind.
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let next = machine.send(&output)
        let expected: UInt8 = handle == 1 ? 0x12 : 0x10
        #expect(next?.first == expected)
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `whose subscriber leaves while it is in doubt, it is switched off only if it is still there`(handle: UInt16) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.shut(0x0001...0xFFFF)
        machine.unsubscribe(1, &output)
        let early = machine.send(&output)
        #expect(early == nil)
        machine.take(Self.changed(to: handle), &output)
        let write = machine.send(&output)
        let expected: [UInt8]? = handle == 1 ? [0x12, 4, 0, 0, 0] : nil
        #expect(write == expected)
    }

    @Test(arguments: [1, 21] as [UInt16], [0x0001...0xFFFF, 0x0030...0x0040] as [ClosedRange<UInt16>])
    func `whose subscriber waits for others to leave, it is switched off only if it is still there`(
        handle: UInt16,
        told: ClosedRange<UInt16>
    ) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        _ = machine.begin(.hold, &output)
        let pass = (try? output.finished.first?.result.get())?.value(as: LinkMachine.Pass.self)
        #expect(pass != nil)
        machine.unsubscribe(1, &output)
        machine.shut(told)
        machine.take(Self.changed(to: handle, affected: told), &output)
        let early = machine.send(&output)
        #expect(early == nil)
        machine.leave(pass, &output)
        let write = machine.send(&output)
        let expected: [UInt8]? = handle == 1 ? [0x12, 4, 0, 0, 0] : nil
        #expect(write == expected)
    }

    @Test(arguments: [false, true])
    func `left while nobody else asks for the services, it still has them discovered`(isForgotten: Bool) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        if isForgotten {
            machine.shut(0x0001...0xFFFF)
            machine.unsubscribe(1, &output)
            machine.forget(&output)
        } else {
            // Others have the link.
            _ = machine.begin(.hold, &output)
            machine.unsubscribe(1, &output)
            machine.servicesChanged(in: 0x0001...0xFFFF, &output)
        }
        let request = machine.send(&output)
        #expect(request == Self.hashRequest)
    }

    @Test func `refused and in doubt by the time that the link is secure, it is made where its characteristic is`() {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate])
        machine.subscribeToHeartRate(&output)
        _ = machine.send(&output)
        // Insufficient Encryption.
        machine.receive([0x01, 0x12, 4, 0, 0x0F], &output)
        machine.shut(0x0001...0xFFFF)
        machine.raised(machine.lastRaise, .done, &output)
        let early = machine.send(&output)
        #expect(early == nil)
        machine.take(Self.changed(to: 21), &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 24, 0, 1, 0])
    }

    @Test func `forgotten, it moves with its characteristic once the services are known`() {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.forget(&output)
        machine.take(Self.known([21]), &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 24, 0, 1, 0] && !Self.hasEnded(output))
        machine.receive([0x1B, 23, 0, 7], &output)
        #expect(output.deliveries.map(\.handle) == [23])
    }

    @Test func `forgotten, it ends with the error if its characteristic is gone`() {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.forget(&output)
        machine.take(Self.known([]), &output)
        #expect(Self.hasEnded(output))
    }

    @Test func `forgotten and found where it was, it goes on without a request`() {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        machine.forget(&output)
        machine.take(Self.known([1]), &output)
        let write = machine.send(&output)
        #expect(write == nil)
        machine.receive([0x1B, 3, 0, 7], &output)
        #expect(output.deliveries.map(\.handle) == [3])
    }

    @Test(arguments: [(4, true), (40, false)] as [(UInt8, Bool)])
    func `an indicated change of services that nobody knows has them discovered if it concerns it`(
        last: UInt8,
        isConcerned: Bool
    ) {
        var machine = Self.armed()
        var output = LinkMachine.Output()
        let range = [last == 4 ? 1 : 30, 0, last, 0] as [UInt8]
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        machine.servicesChanged([CharacteristicValue(bytes: range[...], time: time)], &output)
        machine.receive([0x1B, 3, 0, 7], &output)
        #expect(output.deliveries.isEmpty == isConcerned)
        let request = machine.send(&output)
        #expect(request == (isConcerned ? Self.hashRequest : nil))
    }
}
