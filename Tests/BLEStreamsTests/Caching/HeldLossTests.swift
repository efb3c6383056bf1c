import BLEProtocol
import Synchronization
import Testing

@testable import BLEStreams

/// What is missing among values that wait for their consumer is told in its place among them.
@Suite struct HeldLossTests {
    /// What a consumer is told, in order: a value's octet, how many were lost, `?` where some may be, `withheld` where
    /// the peer may have withheld some.
    private final class Story: Sendable {
        private let entries = Mutex<[String]>([])

        var all: [String] { entries.withLock { $0 } }
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }

        var consumer: ValueConsumer {
            ValueConsumer(
                object: "of 2A37",
                deliver: { values in for value in values { self.add("\(value[0])") } },
                lost: { self.add("\($0) lost") },
                mayLack: { self.add("?") },
                withheld: { self.add("withheld") },
                finish: { _ in self.add("end") }
            )
        }
    }

    private static func characteristic(
        at handle: UInt16,
        _ uuid: BluetoothUUID = BluetoothUUID(0x2A37)
    ) -> Characteristic {
        Characteristic(
            uuid: uuid,
            properties: .notify,
            handle: handle - 1,
            valueHandle: handle,
            endHandle: handle,
            descriptors: []
        )
    }

    private static let database = GATTDatabase(services: [
        GATTService(
            uuid: .heartRate,
            handle: 1,
            endHandle: 5,
            characteristics: [characteristic(at: 3), characteristic(at: 5)]
        )
    ])

    private static let unchanged = DatabaseTracker.Known(database: database, news: .unchanged)

    /// A machine whose services are known, with subscribers to these handles.
    private static func machine(_ subscribers: [(handle: UInt16, story: Story)]) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        machine.add(database, of: [.heartRate])
        for (handle, story) in subscribers { subscribe(&machine, handle, story) }
        return machine
    }

    private static func subscribe(_ machine: inout LinkMachine, _ handle: UInt16, _ story: Story) {
        var output = LinkMachine.Output()
        _ = machine.subscribe(.handle(handle), indications: false, pass: nil, story.consumer, &output)
    }

    /// Subscribes, and hands over what waits for the consumer.
    private static func subscribeAndHandOver(_ machine: inout LinkMachine, _ handle: UInt16, _ story: Story) {
        machine.carryOut { machine, output in
            _ = machine.subscribe(.handle(handle), indications: false, pass: nil, story.consumer, &output)
        }
    }

    private static func value(_ octet: UInt8) -> [CharacteristicValue] {
        [CharacteristicValue(bytes: [octet], time: ReceptionTime(sinceEpoch: .zero, source: .simulation))]
    }

    /// A machine of a link that was taken over from an earlier program, with these services.
    private static func takenOver(_ database: GATTDatabase) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil, isResumed: true)
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        machine.add(database, of: [.heartRate])
        return machine
    }

    /// What it sends next.
    private static func sent(_ machine: inout LinkMachine) -> [UInt8]? {
        var output = LinkMachine.Output()
        return machine.send(&output)
    }

    /// Receives values of a handle, with a loss behind the first and the second one.
    private static func receive(_ machine: inout LinkMachine, of handle: UInt16) {
        for octet in 1...3 as ClosedRange<UInt8> {
            machine.carryOut { $0.received(value(octet), of: handle, &$1) }
            if octet < 3 { machine.carryOut { $0.dropped(2, &$1) } }
        }
    }

    @Test func `what the only subscription lacks among values in doubt stays among them`() {
        let story = Story()
        var machine = Self.machine([(3, story)])
        machine.shut(1...5)
        Self.receive(&machine, of: 3)
        #expect(story.all.isEmpty)
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        #expect(story.all == ["1", "2 lost", "2", "2 lost", "3"])
    }

    @Test func `what nobody can attribute stays among the values in doubt of each`() {
        let (left, right) = (Story(), Story())
        var machine = Self.machine([(3, left), (5, right)])
        machine.shut(1...3)
        Self.receive(&machine, of: 3)
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        #expect(left.all == ["1", "?", "2", "?", "3"])
        #expect(right.all == ["?", "?"])
    }

    /// What one that has learned of no change asks for is answered with Database Out Of Sync, also if nobody awaits
    /// that any more.
    @Test(arguments: [false, true])
    func `what the peer may have withheld until it answers that it is out of sync is told in its place`(
        isCancelled: Bool
    ) {
        let stories = [Story(), Story()]
        var machine = Self.machine([(3, stories[0])])
        machine.carryOut { $0.received(Self.value(1), of: 3, &$1) }
        machine.carryOut { $0.received(Self.value(9), of: 5, &$1) }
        machine.carryOut { machine, output in
            let read = machine.begin(.handles(ReadValue(handle: 9)), &output)
            _ = machine.send(&output)
            if isCancelled { machine.cancel(read, &output) }
            machine.receive([0x01, 0x0A, 9, 0, 0x12], &output)
        }
        for octet in 2...3 as ClosedRange<UInt8> { machine.carryOut { $0.received(Self.value(octet), of: 3, &$1) } }
        machine.carryOut { $0.received(Self.value(10), of: 5, &$1) }
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        machine.add(Self.database, of: [.heartRate])
        Self.subscribeAndHandOver(&machine, 5, stories[1])
        #expect(stories[0].all == ["1", "withheld", "2", "3"])
        #expect(stories[1].all == ["9", "withheld", "10"])
    }

    /// The peer tells that only once: it believes the next request to name the handles that are right now.
    @Test(arguments: [false, true])
    func `chosen services are not used any more once the peer is out of sync`(isCancelled: Bool) {
        var machine = Self.machine([])
        machine.carryOut { machine, output in
            let read = machine.begin(.handles(ReadValue(handle: 3)), &output)
            _ = machine.send(&output)
            if isCancelled { machine.cancel(read, &output) }
            machine.receive([0x01, 0x0A, 3, 0, 0x12], &output)
        }
        #expect(machine.chosen.database.services.isEmpty)
        let hashRead: [UInt8] = [0x08, 1, 0, 0xFF, 0xFF, 0x2A, 0x2B]
        #expect(Self.sent(&machine) == hashRead)
    }

    /// The hash differs from that of the last link, and a value comes in one batch with it.
    @Test func `what was withheld until the hash tells of a change is told before the values behind it`() {
        let story = Story()
        let caching = GATTService(
            uuid: .genericAttribute,
            handle: 6,
            endHandle: 9,
            characteristics: [
                Self.characteristic(at: 7, BluetoothUUID.Characteristics.clientSupportedFeatures),
                Self.characteristic(at: 9, BluetoothUUID.Characteristics.databaseHash),
            ]
        )
        let remembered = RememberedDatabase(
            database: GATTDatabase(services: Self.database.services + [caching]),
            hash: [UInt8](repeating: 1, count: 16)
        )
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: remembered)
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        machine.add(Self.database, of: [.heartRate])
        Self.subscribe(&machine, 3, story)
        machine.carryOut { _ = $0.begin(.database, &$1) }
        _ = Self.sent(&machine)
        machine.carryOut { machine, output in
            machine.received(Self.value(1), of: 3, &output)
            machine.receive([0x09, 18, 9, 0] + [UInt8](repeating: 2, count: 16), &output)
            machine.received(Self.value(2), of: 3, &output)
        }
        machine.carryOut { $0.received(Self.value(3), of: 3, &$1) }
        #expect(story.all == ["1", "withheld", "2", "3"])
    }

    @Test func `values in doubt that are lost are counted with what is missing among them`() {
        let story = Story()
        var machine = Self.machine([(3, story)])
        machine.shut(1...5)
        Self.receive(&machine, of: 3)
        machine.carryOut { _ = $0.ended(DisconnectReason(.supervisionTimeout), &$1) }
        #expect(story.all == ["7 lost", "end"])
    }

    @Test(arguments: [false, true]) func `early values come with what is missing among them, also at the end`(
        isOver: Bool
    ) {
        let story = Story()
        var machine = Self.machine([])
        Self.receive(&machine, of: 3)
        if isOver {
            // Nobody has handed them over when the link ends.
            Self.subscribe(&machine, 3, story)
            machine.carryOut { _ = $0.ended(DisconnectReason(.supervisionTimeout), &$1) }
            #expect(story.all == ["1", "?", "2", "?", "3", "end"])
        } else {
            Self.subscribeAndHandOver(&machine, 3, story)
            #expect(story.all == ["1", "?", "2", "?", "3"])
        }
    }

    @Test func `the beginning of what the peer sends unasked may be missing`() {
        let story = Story()
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        let kept = LinkMachine.KeptSubscription(uuid: BluetoothUUID(0x2A37), valueHandle: 3)
        machine.begin(now: .zero, kept: [kept], &output)
        machine.add(Self.database, of: [.heartRate])
        machine.carryOut { $0.dropped(2, &$1) }
        Self.subscribeAndHandOver(&machine, 3, story)
        machine.carryOut { $0.received(Self.value(1), of: 3, &$1) }
        #expect(story.all == ["?", "1"])
    }

    /// An earlier program has subscribed before this one takes the link over, and the peer has paused since, or it has
    /// not.
    @Test(arguments: [[0x0B, 1, 0], [0x0B, 0, 0], [0x01, 0x0A, 4, 0, 0x02]] as [[UInt8]])
    func `on a link that is taken over the peer is asked whether its values go on`(answer: [UInt8]) {
        let story = Story()
        var machine = Self.takenOver(GATTDatabase(services: [.heartRate(at: 1)]))
        Self.subscribeAndHandOver(&machine, 3, story)
        let question = Self.sent(&machine)
        #expect(question == [0x0A, 4, 0])
        machine.carryOut { $0.receive(answer, &$1) }
        let write = Self.sent(&machine)
        #expect(write == [0x12, 4, 0, 1, 0])
        machine.carryOut { $0.receive([0x13], &$1) }
        machine.carryOut { $0.received(Self.value(1), of: 3, &$1) }
        #expect(story.all == (answer == [0x0B, 0, 0] ? ["1"] : ["?", "1"]))
    }

    @Test func `on a link that is taken over, one that sends without being asked may send already`() {
        let story = Story()
        // Its characteristics have no configuration.
        var machine = Self.takenOver(Self.database)
        Self.subscribeAndHandOver(&machine, 3, story)
        machine.carryOut { $0.received(Self.value(1), of: 3, &$1) }
        #expect(story.all == ["?", "1"])
    }

    @Test(arguments: [[0x0B, 1, 0], [0x0B, 0, 0]] as [[UInt8]])
    func `on a link that is taken over, all who subscribe at once are told that values go on`(answer: [UInt8]) {
        let stories = [Story(), Story()]
        var machine = Self.takenOver(GATTDatabase(services: [.heartRate(at: 1)]))
        for story in stories { Self.subscribeAndHandOver(&machine, 3, story) }
        for _ in stories {
            let question = Self.sent(&machine)
            #expect(question == [0x0A, 4, 0])
            machine.carryOut { $0.receive(answer, &$1) }
        }
        machine.carryOut { $0.received(Self.value(1), of: 3, &$1) }
        for story in stories { #expect(story.all == (answer == [0x0B, 0, 0] ? ["1"] : ["?", "1"])) }
    }

    @Test func `a link that is lost while the peer is asked ends the subscription once`() {
        let story = Story()
        var machine = Self.takenOver(GATTDatabase(services: [.heartRate(at: 1)]))
        Self.subscribeAndHandOver(&machine, 3, story)
        _ = Self.sent(&machine)
        machine.carryOut { _ = $0.ended(DisconnectReason(.supervisionTimeout), &$1) }
        #expect(story.all == ["end"] && machine.subscriptions.isEmpty && machine.operations.isEmpty)
    }
}
