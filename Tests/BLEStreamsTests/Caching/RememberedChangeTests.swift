import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// A bonded peer whose services are remembered without a hash, and that tells of a change as soon as it can.
@Suite struct RememberedChangeTests {
    private static let indication: [UInt8] = [0x1D, 12, 0, 0x01, 0x00, 0xFF, 0xFF]

    private static let database = GATTDatabase(services: [.heartRate(at: 1), attributes(at: 10)])

    /// A service with Service Changed, and nothing else.
    private static func attributes(at handle: UInt16) -> GATTService {
        let changed = Characteristic(
            uuid: BluetoothUUID.Characteristics.serviceChanged,
            properties: .indicate,
            handle: handle + 1,
            valueHandle: handle + 2,
            endHandle: handle + 3,
            descriptors: [Descriptor(uuid: .clientCharacteristicConfiguration, handle: handle + 3)]
        )
        return GATTService(
            uuid: .genericAttribute,
            handle: handle,
            endHandle: handle + 3,
            characteristics: [changed]
        )
    }

    private static func machine(_ database: GATTDatabase = database) -> LinkMachine {
        let remembered = RememberedDatabase(database: database, hash: nil)
        var machine = LinkMachine(
            maximumMTU: 517,
            servedClient: ServerClient(),
            remembered: remembered,
            tellsLater: true
        )
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        return machine
    }

    /// Asks for the services; the first one, which the peer is asked for, is where it was.
    private static func discover(_ machine: inout LinkMachine) {
        var output = LinkMachine.Output()
        _ = machine.begin(.database, &output)
        let probe = machine.send(&output)
        #expect(probe == [0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28])
        machine.receive([0x11, 0x06, 0x01, 0x00, 0x04, 0x00, 0x0D, 0x18], &output)
    }

    /// Also where the program has demanded a level since that the link did not have then.
    @Test(arguments: [nil, .authenticated] as [LinkSecurity.Level?])
    func `a change that was told before the services were asked for has them looked at`(
        _ demanded: LinkSecurity.Level?
    ) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        machine.receive(Self.indication, &output)
        let confirmation = machine.send(&output)
        #expect(confirmation == [0x1E])
        if let demanded { machine.early.demand(demanded) }
        Self.discover(&machine)
        #expect(machine.tracker.current == nil && machine.operations.map(\.stage) == [.finding])
        // The hash by its type.
        let next = machine.send(&output)
        #expect(next?.first == 0x08)
    }

    @Test(arguments: [0, 20])
    func `a change that was told long before the services were asked for has them looked at`(seconds: Int) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        machine.now = .seconds(seconds)
        machine.receive(Self.indication, &output)
        let confirmation = machine.send(&output)
        #expect(confirmation == [0x1E])
        // No value is early any more.
        machine.now = .seconds(30)
        Self.discover(&machine)
        #expect(machine.tracker.current == nil && machine.operations.last?.stage == .finding)
        let next = machine.send(&output)
        #expect(next?.first == 0x08)
    }

    @Test(arguments: [0, 20])
    func `a change that is told while all services are discovered has them looked at once more`(seconds: Int) {
        // The peer has more than that: its services are other ones.
        var machine = Self.machine(GATTDatabase(services: [Self.attributes(at: 1)]))
        var output = LinkMachine.Output()
        machine.now = .seconds(seconds)
        _ = machine.begin(.database, &output)
        let peer = StormyPeer(.none, touchy: [])
        var requests: [[UInt8]] = []
        while requests.count < 100, let request = machine.send(&output) {
            // The descriptors are the last that a discovery asks for.
            if request.first == 0x04, !requests.contains(where: { $0.first == 0x04 }) {
                machine.receive([0x1D, 3, 0, 0x01, 0x00, 0xFF, 0xFF], &output)
            }
            requests.append(request)
            for answer in peer.answers(to: request) { machine.receive(answer.pdu, &output) }
        }
        // The hash by its type, before each discovery.
        let looks = requests.filter { $0 == [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B] }
        #expect(looks.count == 2 && machine.tracker.current != nil)
    }

    @Test(arguments: [false, true])
    func `what has the handle of Service Changed once that is gone tells of no change`(isSubscribed: Bool) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        Self.discover(&machine)
        if isSubscribed, let changed = Self.database.serviceChanged {
            machine.subscribe(toServiceChanged: changed, &output)
            _ = machine.send(&output)
            machine.receive([0x13], &output)
        }
        // The heart rate is at 12.
        let others = GATTDatabase(services: [.heartRate(at: 10)])
        let news = DatabaseTracker.Known.News.changed(before: Self.database, affected: 0x0001...0xFFFF)
        machine.take(DatabaseTracker.Known(database: others, news: news), &output)
        #expect(machine.routes.isEmpty && !machine.table.hasEntry(12))
        machine.receive([0x1B, 12, 0, 7], &output)
        let request = machine.send(&output)
        #expect(request == nil)
    }

    @Test func `Service Changed that is refused on this link is subscribed to again once it is more secure`() throws {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        Self.discover(&machine)
        let changed = try #require(Self.database.serviceChanged)
        machine.subscribe(toServiceChanged: changed, &output)
        for rises in 1...2 {
            let write = machine.send(&output)
            #expect(write == [0x12, 13, 0, 2, 0])
            // Insufficient Encryption.
            machine.receive([0x01, 0x12, 13, 0, 0x0F], &output)
            machine.subscribeToRefusedServiceChanged(&output)
            let early = machine.send(&output)
            #expect(early == nil)
            machine.hold(false, rises: rises)
            machine.subscribeToRefusedServiceChanged(&output)
        }
        let write = machine.send(&output)
        #expect(write == [0x12, 13, 0, 2, 0])
        machine.receive([0x13], &output)
        machine.hold(false, rises: 3)
        machine.subscribeToRefusedServiceChanged(&output)
        let late = machine.send(&output)
        #expect(late == nil)
    }

    @Test func `Service Changed is subscribed to again on a raised link, or once the services are known`() throws {
        let hash = [UInt8](repeating: 7, count: 16)
        let answer: [UInt8] = [0x09, 18, 0x20, 0] + hash
        let remembered = RememberedDatabase(database: Self.database, hash: hash)
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: remembered)
        var output = LinkMachine.Output()
        _ = machine.begin(.database, &output)
        let look = machine.send(&output)
        #expect(look?.first == 0x08)
        machine.receive(answer, &output)
        let changed = try #require(Self.database.serviceChanged)
        machine.subscribe(toServiceChanged: changed, &output)
        _ = machine.send(&output)
        // Insufficient Encryption.
        machine.receive([0x01, 0x12, 13, 0, 0x0F], &output)
        machine.outOfSync(&output)
        machine.hold(false, rises: 1)
        machine.subscribeToRefusedServiceChanged(&output)
        let lookAgain = machine.send(&output)
        #expect(lookAgain?.first == 0x08)
        // Nothing has changed.
        machine.receive(answer, &output)
        let write = machine.send(&output)
        #expect(write == [0x12, 13, 0, 2, 0])
    }

    @Test(arguments: [false, true])
    func `what is under way at a handle that is gone behind the change is found anew`(isSubscription: Bool) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        Self.discover(&machine)
        if isSubscription {
            machine.subscribeToHeartRate(&output)
        } else {
            let selector = LinkMachine.heartRate
            _ = machine.begin(.characteristic(selector, anyOf: []) { ReadValue(handle: $0.valueHandle) }, &output)
        }
        let expected: [UInt8] = isSubscription ? [0x12, 4, 0, 1, 0] : [0x0A, 3, 0]
        let request = machine.send(&output)
        #expect(request == expected)
        // The peer has changed its services, tells so, and then looks for the handle of before: Invalid Handle.
        machine.receive(Self.indication, &output)
        machine.receive([0x01, expected[0], expected[1], 0, 0x01], &output)
        let waiting: [LinkMachine.Stage] = isSubscription ? [] : [.finding]
        #expect(output.finished.isEmpty && machine.operations.map(\.stage) == waiting)
        #expect(machine.subscriptions.isEmpty == !isSubscription)
        let confirmation = machine.send(&output)
        let look = machine.send(&output)
        #expect(confirmation == [0x1E] && look?.first == 0x08)
    }

    @Test func `a change that is told before the program's first request has them looked at`() {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        Self.discover(&machine)
        #expect(machine.tracker.current == Self.database && machine.operations.isEmpty)
        // No value is early any more.
        machine.now = .seconds(20)
        machine.receive(Self.indication, &output)
        let selector = LinkMachine.heartRate
        let read = LinkMachine.Target.characteristic(selector, anyOf: []) { ReadValue(handle: $0.valueHandle) }
        _ = machine.begin(read, &output)
        let confirmation = machine.send(&output)
        let next = machine.send(&output)
        #expect(confirmation == [0x1E] && next?.first == 0x08)
    }
}
