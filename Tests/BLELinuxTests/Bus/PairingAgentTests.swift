import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// An agent and a bus that is made by hand; libdbus is between the two.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct PairingAgentTests {
    private let bus: FakeBus
    private let loop: EventLoop
    private let timeline = HandTimeline()
    private let meanings: AsyncStream<AgentQuestions.Meaning>
    private let agent: PairingAgent
    private static let bluetoothd = ":1.7"
    private static let device = "/org/bluez/hci1/dev_C4_F2_17_1A_1D_BB"

    init() throws {
        bus = try FakeBus(on: EventLoop(name: "test-bus"))
        loop = try EventLoop(name: "test")
        let (meanings, continuation) = AsyncStream<AgentQuestions.Meaning>.makeStream()
        self.meanings = meanings
        agent = PairingAgent(for: .example, on: "hci1", as: .keyboardDisplay, loop: loop, timeline: timeline) {
            continuation.yield($0)
        }
    }

    private func begin(_ other: PairingAgent? = nil) -> Events<PairingAgent.Outcome> {
        Events { yield in
            (other ?? agent).begin(over: bus.bus, yield)
            return RadioActivity {}
        }
    }

    private func begun(_ other: PairingAgent? = nil) async throws {
        let outcome = begin(other)
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        let owner = try await bus.next("GetNameOwner")
        #expect(owner.arguments == ["org.bluez"])
        bus.send(.reply(to: owner.serial, Self.bluetoothd))
        #expect(try await bus.next("AddMatch").arguments == [BluetoothdWatch.rule])
        let register = try await bus.next("RegisterAgent")
        #expect(register.destination == "org.bluez" && register.path == "/org/bluez" && register.signature == "os")
        #expect(register.arguments == [AgentQuestions.path, "KeyboardDisplay"])
        bus.send(.reply(to: register.serial))
        let byDefault = try await bus.next("RequestDefaultAgent")
        #expect(byDefault.arguments == [AgentQuestions.path])
        bus.send(.reply(to: byDefault.serial))
        #expect(await outcome.next() == .ready)
    }

    private func answer() async -> WireMessage? {
        var messages = bus.messages.makeAsyncIterator()
        return await messages.next()
    }

    @Test func `it registers, says yes for the peer, and withdraws`() async throws {
        try await begun()
        #expect(timeline.delays.isEmpty)
        let question = bus.send(.question("RequestAuthorization", from: Self.bluetoothd, Self.device))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: true))
        loop.enqueue { [agent] in agent.answer(.accept, about: .example) }
        let yes = await answer()
        #expect(yes?.type == 2 && yes?.replySerial == question && yes?.destination == Self.bluetoothd)

        agent.end()
        #expect(try await bus.next("UnregisterAgent").arguments == [AgentQuestions.path])
        // Then the connection is closed.
        #expect(await answer() == nil)
    }

    @Test func `a passkey is the answer to the question for one, and goes out once`() async throws {
        try await begun()
        let question = bus.send(.question("RequestPasskey", from: Self.bluetoothd, Self.device))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: false))
        loop.enqueue { [agent] in
            agent.answer(.passkey(4711), about: .example)
            agent.answer(.passkey(4712), about: .example)
            agent.end()
        }
        let reply = await answer()
        #expect(reply?.type == 2 && reply?.replySerial == question && reply?.signature == "u")
        #expect(reply?.body == [0x67, 0x12, 0, 0])
        #expect(try await bus.next("UnregisterAgent").arguments == [AgentQuestions.path])
    }

    @Test func `what bluetoothd has withdrawn is not answered any more`() async throws {
        try await begun()
        bus.send(.question("RequestPasskey", from: Self.bluetoothd, Self.device))
        var cancel = WireMessage.question("Cancel", from: Self.bluetoothd, Self.device)
        (cancel.signature, cancel.arguments) = ("", [])
        let cancelled = bus.send(cancel)
        #expect(await answer()?.replySerial == cancelled)
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: false))
        #expect(await told.next() == .withdrawn)
        loop.enqueue { [agent] in
            agent.answer(.passkey(4711), about: .example)
            agent.end()
        }
        #expect(try await bus.next("UnregisterAgent").arguments == [AgentQuestions.path])
    }

    @Test func `a bluetoothd that leaves the bus with its question open asks no more`() async throws {
        try await begun()
        bus.send(.question("RequestPasskey", from: Self.bluetoothd, Self.device))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: false))
        // Another name, another bluetoothd, and one that nobody but the bus may report.
        bus.send(.ownerChanged(["org.bluez.obex", Self.bluetoothd, ""]))
        bus.send(.ownerChanged(["org.bluez", ":1.6", ""]))
        bus.send(.ownerChanged(["org.bluez", Self.bluetoothd, ""], from: ":1.8"))
        bus.send(.ownerChanged(["org.bluez", Self.bluetoothd, ":1.8"]))
        #expect(await told.next() == .released)
        loop.enqueue { [agent] in
            agent.answer(.passkey(4711), about: .example)
            agent.end()
        }
        // The connection is closed without another call: nobody is there to withdraw from.
        #expect(await answer() == nil)
    }

    @Test func `it says no for another peer, and to what no agent is asked`() async throws {
        try await begun()
        let stranger = "/org/bluez/hci1/dev_00_11_22_33_44_55"
        let question = bus.send(.question("RequestAuthorization", from: Self.bluetoothd, stranger))
        let no = await answer()
        #expect(no?.type == 3 && no?.replySerial == question && no?.errorName == "org.bluez.Error.Rejected")
        bus.send(.question("RequestAuthorization", from: ":1.8", Self.device))
        #expect(await answer()?.errorName == "org.freedesktop.DBus.Error.UnknownMethod")
    }

    /// The path of the device that it pairs with, for a bluetoothd that has got to know it by a private address.
    private static let formerPath = "/org/bluez/hci1/dev_5A_11_22_33_44_55"

    /// bluetoothd has asked about it, and is asked which address it has.
    private func askedByFormerPath(_ member: String) async throws -> (question: UInt32, lookUp: UInt32) {
        let question = bus.send(.question(member, from: Self.bluetoothd, Self.formerPath))
        let lookUp = try await bus.next("Get")
        #expect(lookUp.destination == "org.bluez" && lookUp.path == Self.formerPath)
        #expect(lookUp.arguments == ["org.bluez.Device1", "Address"])
        return (question, lookUp.serial)
    }

    @Test func `a device that bluetoothd got to know by a private address is known by the one that it has`()
        async throws
    {
        try await begun()
        let (question, lookUp) = try await askedByFormerPath("RequestPasskey")
        bus.send(.reply(to: lookUp, property: "C4:F2:17:1A:1D:BB"))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: false))
        loop.enqueue { [agent] in agent.answer(.passkey(4711), about: .example) }
        let reply = await answer()
        #expect(reply?.type == 2 && reply?.replySerial == question && reply?.body == [0x67, 0x12, 0, 0])
    }

    @Test(arguments: ["5A:11:22:33:44:55", nil])
    func `one that has that address, or none by now, is another peer`(_ address: String?) async throws {
        try await begun()
        let (question, lookUp) = try await askedByFormerPath("RequestAuthorization")
        if let address {
            bus.send(.reply(to: lookUp, property: address))
        } else {
            bus.send(.failure(of: lookUp, "org.freedesktop.DBus.Error.UnknownObject"))
        }
        let no = await answer()
        #expect(no?.type == 3 && no?.replySerial == question && no?.errorName == "org.bluez.Error.Rejected")
    }

    @Test func `a device that it has paired with by a private address is forgotten under that, too`() async throws {
        let device = try #require(BluetoothAddress("5A:11:22:33:44:55/random"))
        let agent = PairingAgent(for: device, on: "hci1", as: .keyboardDisplay, loop: loop, timeline: timeline) { _ in }
        try await begun(agent)
        agent.end(forgetting: .example)
        #expect(try await bus.next("RemoveDevice").arguments == [Self.device])
        #expect(try await bus.next("RemoveDevice").arguments == [Self.formerPath])
        #expect(try await bus.next("UnregisterAgent").arguments == [AgentQuestions.path])
    }

    @Test func `what bluetoothd has withdrawn before it says about whom it was is no question`() async throws {
        try await begun()
        let (_, lookUp) = try await askedByFormerPath("RequestPasskey")
        var cancel = WireMessage.question("Cancel", from: Self.bluetoothd, Self.formerPath)
        (cancel.signature, cancel.arguments) = ("", [])
        let cancelled = bus.send(cancel)
        #expect(await answer()?.replySerial == cancelled)
        bus.send(.reply(to: lookUp, property: "C4:F2:17:1A:1D:BB"))
        bus.send(.question("RequestAuthorization", from: Self.bluetoothd, Self.device))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .withdrawn)
        #expect(await told.next() == .asked(octets: BluetoothAddress.example.rawValue, isConsent: true))
    }

    @Test func `without bluetoothd there is nobody to register with`() async throws {
        let outcome = begin()
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        let owner = try await bus.next("GetNameOwner").serial
        bus.send(.failure(of: owner, "org.freedesktop.DBus.Error.NameHasNoOwner"))
        #expect(await outcome.next() == .notNeeded)
        #expect(await answer() == nil)
    }

    @Test func `a bus that lets nobody talk to bluetoothd is named`() async throws {
        let outcome = begin()
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial, Self.bluetoothd))
        _ = try await bus.next("AddMatch")
        bus.send(.failure(of: try await bus.next("RegisterAgent").serial, "org.freedesktop.DBus.Error.AccessDenied"))
        let failure = BusFailure.refused(name: "org.freedesktop.DBus.Error.AccessDenied", text: "Because.")
        #expect(await outcome.next() == .failed(failure))
    }

    @Test func `an answer of the wrong type is a failure`() async throws {
        let outcome = begin()
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        bus.send(.reply(to: try await bus.next("GetNameOwner").serial))
        guard case .failed(.refused)? = await outcome.next() else {
            Issue.record("an owner without a name")
            return
        }
    }

    @Test func `a bus that is silent has its time and no more`() async throws {
        let outcome = begin()
        _ = try await bus.next("Hello")
        timeline.fire()
        #expect(await outcome.next() == .failed(.timedOut))
    }

    @Test func `a bus that sends nonsense is left`() async throws {
        try await begun()
        bus.write([UInt8](repeating: 0xFF, count: 64))
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .released)
    }

    @Test func `a bus that ends is told`() async throws {
        try await begun()
        bus.disconnect()
        var told = meanings.makeAsyncIterator()
        #expect(await told.next() == .released)
    }

    @Test func `a bus that isn't there is a failure at once`() async throws {
        let outcome = Events<PairingAgent.Outcome> { yield in
            agent.begin(over: SystemBus(address: "unix:path=/nowhere/bus"), yield)
            return RadioActivity {}
        }
        guard case .failed(.unreachable(let why))? = await outcome.next() else {
            Issue.record("a bus where there is none")
            return
        }
        #expect(why.contains("/nowhere/bus"))
    }

    @Test func `a library that isn't there is no library`() {
        #expect(LibDBus(named: "libnothing.so.3") == nil)
        #expect(LibDBus(named: "libc.so.6") == nil)
    }
}
