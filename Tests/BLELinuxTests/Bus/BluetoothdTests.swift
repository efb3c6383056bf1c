import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// What bluetoothd is asked over the bus, on a bus that is made by hand.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct BluetoothdTests {
    private let bus: FakeBus
    private let loop: EventLoop

    init() throws {
        bus = try FakeBus(on: EventLoop(name: "test-bus"))
        loop = try EventLoop(name: "test")
    }

    private func letIn() async throws {
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
    }

    /// Whether bluetoothd is there, for a program that is about to be answered.
    private func presence() -> Events<Bluetoothd.Presence> {
        Events { [bus, loop] yield in
            Bluetoothd.findOnBus(bus.bus, loop: loop, timeline: HandTimeline(), yield)
            return RadioActivity {}
        }
    }

    @Test func `it is there where its name has an owner`() async throws {
        let presence = presence()
        try await letIn()
        let owner = try await bus.next("GetNameOwner")
        #expect(owner.arguments == ["org.bluez"])
        bus.send(.reply(to: owner.serial, ":1.7"))
        #expect(await presence.next() == .here)
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.NameHasNoOwner", Bluetoothd.Presence.absent),
        ("org.freedesktop.DBus.Error.AccessDenied", .unknown),
    ])
    func `it is absent where the bus says so, and any other refusal says nothing`(
        _ refusal: String,
        _ expected: Bluetoothd.Presence
    ) async throws {
        let presence = presence()
        try await letIn()
        bus.send(.failure(of: try await bus.next("GetNameOwner").serial, refusal))
        #expect(await presence.next() == expected)
    }

    @Test func `nothing is known where the bus ends before it answers`() async throws {
        let presence = presence()
        _ = try await bus.next("Hello")
        bus.disconnect()
        #expect(await presence.next() == .unknown)
    }

    /// Whether a device is certain to be forgotten.
    private func forgetting(over bus: SystemBus, _ timeline: HandTimeline = HandTimeline()) -> Events<Bool> {
        Events { [loop] yield in
            Bluetoothd.forget(.example, of: "hci1", over: bus, loop: loop, timeline: timeline) { yield($0 == nil) }
            return RadioActivity {}
        }
    }

    @Test func `a device that is unpaired is taken out of its list, where it is there`() async throws {
        let done = forgetting(over: bus.bus)
        try await letIn()
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial, ":1.7"))
        let removal = try await bus.next("RemoveDevice")
        #expect(removal.destination == "org.bluez" && removal.path == "/org/bluez/hci1" && removal.signature == "o")
        #expect(removal.arguments == ["/org/bluez/hci1/dev_C4_F2_17_1A_1D_BB"])
        #expect(done.count == 0, "it is not done before bluetoothd has answered")
        bus.send(.reply(to: removal.serial))
        #expect(await done.next() == true)
    }

    @Test func `nobody is asked to forget where it is not there`() async throws {
        let done = forgetting(over: bus.bus)
        try await letIn()
        let owner = try await bus.next("GetNameOwner")
        bus.send(.failure(of: owner.serial, "org.freedesktop.DBus.Error.NameHasNoOwner"))
        #expect(await done.next() == true)
        let skipped = forgetting(over: SystemBus(address: "unix:path=/nowhere"))
        #expect(await skipped.next() == true)
    }

    /// The bus doesn't say hello, as where too many wait for it; or it, or bluetoothd, doesn't answer the call.
    @Test(arguments: [nil, "GetNameOwner", "RemoveDevice"])
    func `who gets no answer is told that it may still have the device`(_ silent: String?) async throws {
        let timeline = HandTimeline()
        let done = forgetting(over: bus.bus, timeline)
        if let silent {
            try await letIn()
            let owner = try await bus.next("GetNameOwner")
            if silent != "GetNameOwner" {
                bus.send(.reply(to: owner.serial, ":1.7"))
                _ = try await bus.next(silent)
            }
            // The limit is set in the same turn.
            await loop.turn()
        }
        timeline.fire(PairingAgent.patience)
        #expect(await done.next() == false)
    }

    /// The policy of the bus may let only some users talk to bluetoothd.
    @Test func `who may not ask it is told that it may still have the device`() async throws {
        let done = forgetting(over: bus.bus)
        try await letIn()
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial, ":1.7"))
        bus.send(.failure(of: try await bus.next("RemoveDevice").serial, Self.accessDenied))
        #expect(await done.next() == false)
    }

    private static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"

    /// It doesn't know the device by its address, and is asked for the paths of those that it knows. Returns the serial
    /// of that question.
    private func askedForPaths() async throws -> UInt32 {
        try await letIn()
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial, ":1.7"))
        bus.send(.failure(of: try await bus.next("RemoveDevice").serial, "org.bluez.Error.DoesNotExist"))
        let question = try await bus.next("Introspect")
        #expect(question.destination == "org.bluez" && question.path == "/org/bluez/hci1")
        #expect(question.interface == "org.freedesktop.DBus.Introspectable" && question.arguments.isEmpty)
        return question.serial
    }

    /// The question for the address of the device at a path. Returns its serial.
    private func askedForAddress(at name: String) async throws -> UInt32 {
        let question = try await bus.next("Get")
        #expect(question.path == "/org/bluez/hci1/\(name)")
        #expect(question.arguments == ["org.bluez.Device1", "Address"])
        return question.serial
    }

    /// What it knows, as it describes that: the address of the first device has never changed.
    private static let description = """
        <node><interface name="org.bluez.Adapter1"><property name="Address" type="s" access="read"/></interface>
        <node name="dev_C8_11_22_33_44_55"/><node name="dev_5A_11_22_33_44_55"/><node name="dev_6B_11_22_33_44_55"/>
        <node name="dev_7C_11_22_33_44_55"/></node>
        """

    @Test func `a device that it got to know by a private address is taken out under that`() async throws {
        let done = forgetting(over: bus.bus)
        bus.send(.reply(to: try await askedForPaths(), Self.description))
        bus.send(.reply(to: try await askedForAddress(at: "dev_5A_11_22_33_44_55"), property: "5A:11:22:33:44:55"))
        bus.send(.reply(to: try await askedForAddress(at: "dev_6B_11_22_33_44_55"), property: "C4:F2:17:1A:1D:BB"))
        let removal = try await bus.next("RemoveDevice")
        #expect(removal.path == "/org/bluez/hci1" && removal.arguments == ["/org/bluez/hci1/dev_6B_11_22_33_44_55"])
        #expect(done.count == 0, "it is not done before bluetoothd has answered")
        bus.send(.reply(to: removal.serial))
        #expect(await done.next() == true)
    }

    @Test(arguments: [nil, description] as [String?])
    func `a device that it doesn't know under any path is forgotten`(_ description: String?) async throws {
        let done = forgetting(over: bus.bus)
        let question = try await askedForPaths()
        if let description {
            bus.send(.reply(to: question, description))
            for number in ["5A", "6B", "7C"] {
                let lookUp = try await askedForAddress(at: "dev_\(number)_11_22_33_44_55")
                bus.send(.failure(of: lookUp, "org.freedesktop.DBus.Error.UnknownObject"))
            }
        } else {
            bus.send(.failure(of: question, "org.freedesktop.DBus.Error.UnknownMethod"))
        }
        #expect(await done.next() == true)
    }

    @Test(arguments: [false, true])
    func `who may not look for the device is told that it may still have it`(_ knowsPaths: Bool) async throws {
        let done = forgetting(over: bus.bus)
        var refused = try await askedForPaths()
        if knowsPaths {
            bus.send(.reply(to: refused, Self.description))
            refused = try await askedForAddress(at: "dev_5A_11_22_33_44_55")
        }
        bus.send(.failure(of: refused, Self.accessDenied))
        #expect(await done.next() == false)
    }

    @Test func `who may not even ask whether it is there is told that it may still have the device`() async throws {
        let done = forgetting(over: bus.bus)
        try await letIn()
        bus.send(.failure(of: try await bus.next("GetNameOwner").serial, "org.freedesktop.DBus.Error.AccessDenied"))
        #expect(await done.next() == false)
    }

    /// A bluetoothd that is restarted ends before it has answered, or before it is asked, and reads its bonds when it
    /// begins; or the bus ends.
    @Test(arguments: ["NoReply", "NameHasNoOwner", "ServiceUnknown", nil])
    func `who asks one that leaves meanwhile is told that it may still have the device`(_ error: String?) async throws {
        let done = forgetting(over: bus.bus)
        try await letIn()
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial, ":1.7"))
        let removal = try await bus.next("RemoveDevice")
        if let error {
            bus.send(.failure(of: removal.serial, "org.freedesktop.DBus.Error.\(error)"))
        } else {
            bus.disconnect()
        }
        #expect(await done.next() == false)
    }

    /// Its answers to the question with which of two adapters it scans.
    private func scanning(over bus: SystemBus) -> Events<[String: Bool]> {
        Events { [loop] yield in
            let adapters = ["hci0", "hci1"]
            Bluetoothd.findWhetherItScans(with: adapters, over: bus, loop: loop, timeline: HandTimeline(), yield)
            return RadioActivity {}
        }
    }

    @Test func `it is asked of each adapter whether it scans with it`() async throws {
        let scanning = scanning(over: bus.bus)
        try await letIn()
        for (adapter, isScanning) in [("hci0", false), ("hci1", true)] {
            let question = try await bus.next("Get")
            #expect(question.destination == "org.bluez" && question.path == "/org/bluez/\(adapter)")
            #expect(question.arguments == ["org.bluez.Adapter1", "Discovering"])
            bus.send(.reply(to: question.serial, property: isScanning))
        }
        #expect(await scanning.next() == ["hci0": false, "hci1": true])
    }

    @Test func `an adapter that it doesn't know is not in its answers, and neither is any where it is not there`()
        async throws
    {
        let scanning = scanning(over: bus.bus)
        try await letIn()
        let refusal = "org.freedesktop.DBus.Error.UnknownObject"
        bus.send(.failure(of: try await bus.next("Get").serial, refusal))
        bus.send(.reply(to: try await bus.next("Get").serial, property: true))
        #expect(await scanning.next() == ["hci1": true])
        let nowhere = self.scanning(over: SystemBus(address: "unix:path=/nowhere"))
        #expect(await nowhere.next() == [:])
    }

    @Test func `what it has said until the bus ends is known`() async throws {
        let scanning = scanning(over: bus.bus)
        try await letIn()
        bus.send(.reply(to: try await bus.next("Get").serial, property: true))
        _ = try await bus.next("Get")
        bus.disconnect()
        #expect(await scanning.next() == ["hci0": true])
    }

    @Test func `the system's bus is where the environment or the standard says`() {
        #expect(SystemBus.standard.address.hasPrefix("unix:"))
    }
}
