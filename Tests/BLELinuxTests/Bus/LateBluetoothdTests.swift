import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A pairing during which a bluetoothd is started, on a bus that is made by hand.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct LateBluetoothdTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private let kernel: KernelDouble
    private let name = FakeBus.newName()

    init() throws { kernel = try KernelDouble() }

    /// A pairing that the kernel has begun; there is no bus yet.
    private func begun(asking interview: PairingInterview = .justWorks) async throws -> Events<Outcome> {
        var surroundings = kernel.pairingSurroundings()
        surroundings.bus = FakeBus.place(of: name)
        return try await kernel.begunPairing(in: surroundings, asking: interview)
    }

    /// A pairing for better keys that the kernel has begun; there is no bus yet.
    private func begunAnew(asking interview: PairingInterview) async throws -> Events<Outcome> {
        var surroundings = kernel.pairingSurroundings()
        surroundings.bus = FakeBus.place(of: name)
        return try await kernel.begunPairingAnew(in: surroundings, asking: interview)
    }

    /// The pairing looks for bluetoothd.
    private func look(on bus: FakeBus, isThere: Bool) async throws {
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        let owner = try await bus.next("GetNameOwner")
        if isThere {
            bus.send(.reply(to: owner.serial, ":1.7"))
        } else {
            bus.send(.failure(of: owner.serial, "org.freedesktop.DBus.Error.NameHasNoOwner"))
        }
    }

    /// The error of a pairing that this side has agreed to, and that is refused all the same.
    private func refusal(of outcomes: Events<Outcome>, on bus: FakeBus, isThere: Bool) async throws -> BLEError {
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await kernel.next()?.opcode == .userConfirmationReply)
        try kernel.answer(to: .pairDevice, .authenticationFailed, with: [UInt8](repeating: 0, count: 7))
        try await look(on: bus, isThere: isThere)
        let outcome = try #require(await outcomes.next())
        return try #require(#expect(throws: BLEError.self) { try outcome.get() })
    }

    @Test(arguments: [true, false])
    func `one that has succeeded outlasts a bluetoothd that was started meanwhile`(_ isThere: Bool) async throws {
        let outcomes = try await begun()
        let bus = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: [UInt8](repeating: 0, count: 7))
        try await look(on: bus, isThere: isThere)
        if isThere {
            let pause = Duration.milliseconds(3500)
            while !kernel.timeline.delays.contains(pause) { await Task.yield() }
            #expect(outcomes.count == 0)
            kernel.timeline.fire(pause)
        }
        #expect(try #require(await outcomes.next()).get()?.peer == .example)
    }

    @Test(arguments: [true, false])
    func `one that is refused may be so by a bluetoothd that was started meanwhile`(_ isThere: Bool) async throws {
        let outcomes = try await begun()
        let bus = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        let error = try await refusal(of: outcomes, on: bus, isThere: isThere)
        #expect(error.pairingFailure == (isThere ? .refusedByBluetoothd : .refusedByPeripheral))
        #expect(error.isFinal == !isThere && !error.remedy.isEmpty)
    }

    /// It needs no time for that, other than a person who is to compare numbers or to enter a passkey.
    @Test(arguments: [0x0F, 0x10] as [UInt8])
    func `one that is refused before a person has answered may be so by such a bluetoothd`(
        _ question: UInt8
    ) async throws {
        let (questions, asked) = AsyncStream<PairingQuestion>.makeStream()
        let interview = PairingInterview(.keyboardDisplay) { question, _ in asked.yield(question) }
        let outcomes = try await begun(asking: interview)
        let bus = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        try kernel.tellOfPeer(question, question == 0x0F ? [0, 1, 2, 3, 0] : [])
        for await _ in questions { break }
        try kernel.answer(to: .pairDevice, .authenticationFailed, with: [UInt8](repeating: 0, count: 7))
        try await look(on: bus, isThere: true)
        let outcome = try #require(await outcomes.next())
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.pairingFailure == .refusedByBluetoothd && !error.isFinal, "\(error)")
    }

    @Test(arguments: [true, false])
    func `one for better keys that is refused may be so by such a bluetoothd`(_ isThere: Bool) async throws {
        let interview = PairingInterview(.displayYesNo) { _, reply in reply(.accept) }
        let outcomes = try await begunAnew(asking: interview)
        let bus = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        try kernel.tellOfPeer(0x0F, [0, 1, 2, 3, 0])
        #expect(await kernel.next()?.opcode == .userConfirmationReply)
        try kernel.tellOfPeer(0x11, [ManagementStatus.authenticationFailed.rawValue])
        try await look(on: bus, isThere: isThere)
        let outcome = try #require(await outcomes.next())
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.pairingFailure == (isThere ? .refusedByBluetoothd : .refusedByPeripheral))
        #expect(error.isFinal == !isThere && !error.remedy.isEmpty, "\(error)")
    }

    /// A pairing that the kernel has begun. This program was made the agent of a bluetoothd, which has left since.
    private func begunAsAgent(of bus: FakeBus) async throws -> Events<Outcome> {
        var surroundings = kernel.pairingSurroundings()
        (surroundings.bus, surroundings.bluetoothd) = (bus.bus, .here)
        let outcomes = kernel.pairing(in: surroundings)
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
        try await look(on: bus, isThere: true)
        _ = try await bus.next("AddMatch")
        for member in ["RegisterAgent", "RequestDefaultAgent"] {
            bus.send(.reply(to: try await bus.next(member).serial))
        }
        #expect(await kernel.next()?.opcode == .pairDevice)
        bus.send(.ownerChanged(["org.bluez", ":1.7", ""]))
        // The turn is free once there is nobody whom the agent of another pairing would keep from being asked.
        let turn = AgentTurn(on: bus.bus, loop: kernel.loop, timeline: kernel.timeline)
        let isFree = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { turn.take { yield(()) } }
            return RadioActivity { turn.release() }
        }
        _ = await isFree.next()
        isFree.activity.cancel()
        return outcomes
    }

    @Test(arguments: [true, false])
    func `one that is refused may be so by a bluetoothd that has taken the place of another one`(
        _ isThere: Bool
    ) async throws {
        let bus = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        let outcomes = try await begunAsAgent(of: bus)
        let error = try await refusal(of: outcomes, on: bus, isThere: isThere)
        #expect(error.pairingFailure == (isThere ? .refusedByBluetoothd : .refusedByPeripheral))
        #expect(error.isFinal == !isThere && !"\(error)".contains("bluetoothctl remove"), "\(error)")
    }
}
