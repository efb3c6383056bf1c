import BLEProtocol
import BLERadio
import RadioContract
import Synchronization
import Testing

@testable import BLELinux

/// Settings that were changed for a while, and that the kernel doesn't put back when it is told to; the test is the
/// kernel.
@Suite(.timeLimit(.minutes(10))) struct SettingsLeftTests {
    private static let none = [UInt8](repeating: 0, count: 4)

    private let kernel: KernelDouble
    private let adapter: LinuxAdapter
    private let facts: AdapterFacts
    private let leftovers: Leftovers

    init() throws {
        kernel = try KernelDouble()
        let plugged = try PluggedAdapter()
        (adapter, facts, leftovers) = (plugged.adapter, plugged.facts, plugged.leftovers)
    }

    private var left: [KernelThing.Kind] { leftovers.left(on: facts).map(\.thing.kind) }

    private func answerInformation(_ current: ManagementSettings) async throws {
        let information = KernelDouble.information(current)
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
    }

    /// Waits until all that the kernel has answered is processed, and nobody holds a note for it any more: what is
    /// answered together is processed together, hence twice.
    private func settle() async throws {
        for _ in 1...2 {
            let settled = Events<Void> { [kernel] yield in
                kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
                return RadioActivity {}
            }
            try await answerInformation([.powered])
            _ = await settled.next()
        }
    }

    private func makeSettings() -> PairingSettings {
        PairingSettings(management: kernel.management, leftovers: leftovers, timeline: kernel.timeline) { [facts] in
            facts
        }
    }

    private func hold(_ settings: PairingSettings) -> Events<Bool> {
        Events { [kernel] yield in
            kernel.loop.enqueue { settings.hold { yield($0 == nil) } }
            return RadioActivity {}
        }
    }

    /// Holds the settings of a pairing, until it sets the first one; tells whether they are set.
    private func holdSettings() async throws -> (settings: PairingSettings, held: Events<Bool>) {
        let settings = makeSettings()
        let held = hold(settings)
        try await answerInformation([.powered, .secureConnections])
        return (settings, held)
    }

    @Test(arguments: [ManagementStatus.success, .failed])
    func `a setting of a pairing that is not put back stays noted for the next program`(
        _ status: ManagementStatus
    ) async throws {
        let (settings, held) = try await holdSettings()
        #expect(try await kernel.answer(with: Self.none)?.opcode == .setBondable)
        #expect(await held.next() == true)
        settings.release()
        #expect(try await kernel.answer(status, with: Self.none)?.opcode == .setBondable)
        try await settle()
        #expect(left == (status == .success ? [] : [.bondable]))
    }

    @Test(arguments: [ManagementStatus.success, .failed])
    func `a setting that the kernel may have switched on, though it gave no answer, is switched off in the end`(
        _ status: ManagementStatus
    ) async throws {
        let (settings, held) = try await holdSettings()
        #expect(await kernel.next()?.opcode == .setBondable)
        kernel.timeline.fire()
        #expect(await held.next() == false)
        try kernel.answer(to: .setBondable, .success, with: Self.none)
        settings.release()
        // What comes next in any case.
        kernel.management.submit(ManagementReadInformation()) { _ in }
        let command = try await kernel.answer(status, with: Self.none)
        try #require(command?.opcode == .setBondable)
        #expect(command?.parameters == [0])
        try await answerInformation([.powered])
        try await settle()
        #expect(left == (status == .success ? [] : [.bondable]))
    }

    /// Begins to receive pairings.
    ///
    /// - Parameter look: called when it looks for the adapter's facts.
    private func beginReceiving(
        outOfBand data: OutOfBandData? = nil,
        looking look: @escaping @Sendable () -> Void = {}
    ) -> Events<PairingReceptionEvent> {
        var surroundings = kernel.pairingSurroundings(keys: KernelKeys(management: kernel.management))
        surroundings.leftovers = leftovers
        surroundings.facts = { [facts] in
            look()
            return facts
        }
        let interview = PairingInterview(.keyboardDisplay) { _, _ in }
        let reception = PairingReception(.keyboardDisplay, outOfBand: data) { _ in interview }
        return Events { [kernel, surroundings] yield in
            let receiver = PairingReceiver(
                reception,
                in: surroundings,
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            )
            kernel.loop.enqueue { receiver.begin() }
            return RadioActivity { receiver.cancel() }
        }
    }

    /// Receives pairings, until it sets the capability.
    private func receive(outOfBand data: OutOfBandData? = nil) async throws -> Events<PairingReceptionEvent> {
        let events = beginReceiving(outOfBand: data)
        try await answerInformation([.powered, .bondable, .secureConnections])
        return events
    }

    @Test(arguments: [ManagementStatus.success, .failed])
    func `a capability that is not put back stays noted for the next program`(
        _ status: ManagementStatus
    ) async throws {
        let events = try await receive()
        #expect(try await kernel.answer()?.opcode == .setIOCapability)
        guard case .started = await events.next() else {
            Issue.record("not started")
            return
        }
        events.activity.cancel()
        #expect(try await kernel.answer(status)?.opcode == .setIOCapability)
        try await settle()
        #expect(left == (status == .success ? [] : [.capability]))
    }

    @Test func `a capability that the kernel has refused is not noted`() async throws {
        let events = try await receive()
        for _ in 1...2 { #expect(try await kernel.answer(.permissionDenied)?.opcode == .setIOCapability) }
        guard case .ended = await events.next() else {
            Issue.record("not ended")
            return
        }
        try await settle()
        #expect(left.isEmpty)
    }

    /// The program may end it on another thread at any moment.
    @Test func `a capability isn't set when the reception has ended just before`() async throws {
        let (looks, look) = AsyncStream.makeStream(of: Void.self)
        let ending = Mutex<RadioActivity?>(nil)
        let events = beginReceiving {
            ending.withLock { $0.take() }?.cancel()
            look.yield()
        }
        ending.withLock { $0 = events.activity }
        try await answerInformation([.powered, .bondable, .secureConnections])
        for await _ in looks { break }
        await kernel.loop.turn()
        // What comes next in any case.
        kernel.management.submit(ManagementReadInformation()) { _ in }
        let next = try await kernel.answer(with: KernelDouble.information([.powered]))
        try #require(next?.opcode == .readInformation)
        try await settle()
        #expect(left.isEmpty)
    }

    /// The kernel would use it in each later pairing with that central.
    @Test func `a central's out-of-band data isn't given to the kernel when the reception has ended`() async throws {
        let central: [UInt8] = [8, 0x1B] + BluetoothAddress.example.littleEndianOctets + [1]
        let octets: [UInt8] = central + [17, 0x22] + Array(1...16) + [17, 0x23] + Array(17...32)
        let events = try await receive(outOfBand: OutOfBandData(octets: octets))
        #expect(await kernel.next()?.opcode == .setIOCapability)
        events.activity.cancel()
        try kernel.answer(to: .setIOCapability, .success)
        // What it puts back and takes away is the last that it has to say.
        #expect(try await kernel.answer()?.opcode == .setIOCapability)
        let removal = try await kernel.answer(with: [UInt8](repeating: 0, count: 7))
        #expect(removal?.opcode == .addRemoteOutOfBandData)
        #expect(removal?.parameters.dropFirst(7).contains { $0 != 0 } == false)
        try await settle()
        #expect(left.isEmpty)
    }

    /// The kernel would use it in each later pairing with that peer.
    @Test(arguments: [ManagementStatus.success, .failed])
    func `a peer's out-of-band data that is not removed stays noted, and is before the next pairing`(
        _ status: ManagementStatus
    ) async throws {
        let data = try #require(OutOfBandData(octets: [17, 0x22] + (0..<16) + [17, 0x23] + (0..<16)))
        let address = [UInt8](repeating: 0, count: 7)
        var surroundings = kernel.pairingSurroundings()
        surroundings.leftovers = leftovers
        surroundings.facts = { [facts] in facts }
        let interview = PairingInterview(.noInputNoOutput, outOfBand: data) { _, _ in }
        let outcomes = kernel.pairing(in: surroundings, asking: interview)
        try await answerInformation([.powered, .bondable, .secureConnections])
        #expect(try await kernel.answer(with: address)?.opcode == .addRemoteOutOfBandData)
        #expect(await kernel.next()?.opcode == .pairDevice)
        #expect(leftovers.held(on: facts).map(\.kind) == [.outOfBandData])
        try kernel.answer(to: .pairDevice, .authenticationFailed, with: address)
        #expect(try await kernel.answer(status, with: address)?.opcode == .addRemoteOutOfBandData)
        _ = await outcomes.next()
        try await settle()
        #expect(left == (status == .success ? [] : [.outOfBandData]))

        let held = hold(makeSettings())
        if status != .success {
            let removal = try await kernel.answer(with: address)
            #expect(removal?.opcode == .removeRemoteOutOfBandData && removal?.parameters == address)
        }
        try await answerInformation([.powered, .bondable, .secureConnections])
        #expect(await held.next() == true)
        try await settle()
        #expect(left.isEmpty)
    }

    /// Begins to make out-of-band data; tells whether there is some.
    private func beginData(beside settings: PairingSettings) -> Events<Bool> {
        let exchange = OutOfBandExchange(
            management: kernel.management,
            adapter: adapter,
            leftovers: leftovers,
            settings: settings
        )
        return Events { [kernel] yield in
            kernel.loop.enqueue { exchange.make { yield($0.failure == nil) } }
            return RadioActivity {}
        }
    }

    /// Makes out-of-band data, on an adapter whose Secure Connections are off; tells whether there is some.
    private func makeOutOfBandData(beside settings: PairingSettings? = nil) async throws -> Events<Bool> {
        let made = beginData(beside: settings ?? makeSettings())
        try await answerInformation([.powered, .bondable])
        return made
    }

    @Test(arguments: [ManagementStatus.success, .failed])
    func `Secure Connections that are on for out-of-band data are noted until they are off`(
        _ status: ManagementStatus
    ) async throws {
        let made = try await makeOutOfBandData()
        #expect(try await kernel.answer(with: Self.none)?.opcode == .setSecureConnections)
        #expect(leftovers.held(on: facts).map(\.kind) == [.secureConnections])
        #expect(try await kernel.answer(.notSupported)?.opcode == ManagementReadLocalOutOfBandData.opcode)
        #expect(try await kernel.answer(status, with: Self.none)?.opcode == .setSecureConnections)
        #expect(await made.next() == false)
        try await settle()
        #expect(left == (status == .success ? [] : [.secureConnections]))
    }

    @Test func `Secure Connections that the kernel has refused are not noted, nor switched off`() async throws {
        let made = try await makeOutOfBandData()
        #expect(try await kernel.answer(.permissionDenied)?.opcode == .setSecureConnections)
        #expect(try await kernel.answer(.notSupported)?.opcode == ManagementReadLocalOutOfBandData.opcode)
        #expect(await made.next() == false)
        try await settle()
        #expect(left.isEmpty)
    }

    @Test func `Secure Connections stay on for a pairing that begins while data is made with them`() async throws {
        let settings = makeSettings()
        let made = try await makeOutOfBandData(beside: settings)
        #expect(try await kernel.answer(with: Self.none)?.opcode == .setSecureConnections)
        #expect(await kernel.next()?.opcode == ManagementReadLocalOutOfBandData.opcode)
        let held = hold(settings)
        await kernel.loop.turn()
        try kernel.answer(to: ManagementReadLocalOutOfBandData.opcode, .notSupported)
        try await answerInformation([.powered, .bondable, .secureConnections])
        #expect(await held.next() == true)
        // What comes next in any case.
        kernel.management.submit(ManagementReadInformation()) { _ in }
        let next = try await kernel.answer(with: KernelDouble.information([.powered]))
        try #require(next?.opcode == .readInformation)
        #expect(await made.next() == false)
        settings.release()
        let command = try await kernel.answer(with: Self.none)
        #expect(command?.opcode == .setSecureConnections && command?.parameters == [0])
        try await settle()
        #expect(left.isEmpty)
    }

    @Test func `Secure Connections of a pairing that ends stay on until the data is made with them`() async throws {
        let settings = makeSettings()
        let held = hold(settings)
        try await answerInformation([.powered, .bondable])
        #expect(try await kernel.answer(with: Self.none)?.opcode == .setSecureConnections)
        #expect(await held.next() == true)
        let made = beginData(beside: settings)
        #expect(await kernel.next()?.opcode == .readInformation)
        settings.release()
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        try kernel.answer(to: .readInformation, .success, with: information)
        let reading = try await kernel.answer(.notSupported)
        try #require(reading?.opcode == ManagementReadLocalOutOfBandData.opcode)
        let command = try await kernel.answer(with: Self.none)
        #expect(command?.opcode == .setSecureConnections && command?.parameters == [0])
        #expect(await made.next() == false)
        try await settle()
        #expect(left.isEmpty)
    }
}
