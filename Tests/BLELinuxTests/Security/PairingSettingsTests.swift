import BLEProtocol
import BLERadio
import Foundation
import RadioContract
import Testing

@testable import BLELinux

/// The settings that pairings need, on an adapter that others set too.
@Suite(.timeLimit(.minutes(10))) struct PairingSettingsTests {
    private static let none = [UInt8](repeating: 0, count: 4)
    private let kernel: KernelDouble
    /// An adapter that nobody else has.
    private let adapter: AdapterFacts
    private let path: String
    /// Its claims are in memory: a child that another test starts would keep one of this machine's until it executes
    /// its program.
    private let claims = FakeKernel()

    init() throws {
        kernel = try KernelDouble()
        let address = BluetoothAddress(rawValue: .random(in: 1...0xFFFF_FFFF_FFFF), kind: .public)
        adapter = AdapterFacts(number: 0, address: address, flags: 0, features: [])
        path = FileManager.default.temporaryDirectory.appendingPathComponent("settings-\(UUID())").path
    }

    private var leftovers: Leftovers {
        let folder = NoteFolder(path: path)
        #expect(folder.isOurs)
        return Leftovers(folder: folder, boot: "a", of: claims.kernel)
    }

    /// - Parameter step: how much time passes between two of another program's changes.
    private func settings(step: Duration = .zero) -> PairingSettings {
        let timeline = HandTimeline(step: step)
        return PairingSettings(management: kernel.management, leftovers: leftovers, timeline: timeline) { [adapter] in
            adapter
        }
    }

    /// Begins to hold them; the answer comes as an event.
    private func hold(_ settings: PairingSettings) -> Events<Bool> {
        Events { [kernel] yield in
            kernel.loop.enqueue { settings.hold { yield($0 == nil) } }
            return RadioActivity {}
        }
    }

    private func answerInformation(_ current: ManagementSettings) async throws {
        let information = KernelDouble.information(current)
        #expect(try await kernel.answer(with: information)?.opcode == .readInformation)
    }

    /// What is set next: whether it is switched on.
    private func set(_ opcode: ManagementOpcode) async throws -> Bool? {
        let command = try await kernel.answer(with: Self.none)
        #expect(command?.opcode == opcode)
        return command.map { $0.parameters == [1] }
    }

    /// Waits until all that the kernel has answered is processed.
    private func settle() async throws {
        let settled = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        try await answerInformation([.powered])
        _ = await settled.next()
    }

    private func tell(_ settings: ManagementSettings) throws {
        var writer = ByteWriter()
        writer.uint32(settings.rawValue)
        try kernel.tell(6, writer.bytes)
    }

    /// Holds them on an adapter where only bondable was off.
    private func held(_ settings: PairingSettings) async throws {
        let held = hold(settings)
        try await answerInformation([.powered, .secureConnections])
        #expect(try await set(.setBondable) == true)
        #expect(await held.next() == true)
    }

    @Test func `they are on until the last one lets go`() async throws {
        let settings = settings()
        try await held(settings)
        let second = hold(settings)
        try await answerInformation([.powered, .bondable, .secureConnections])
        #expect(await second.next() == true)
        settings.release()
        settings.release()
        #expect(try await set(.setBondable) == false)
    }

    @Test func `what another program switches off is on again, and off in the end; not for ever`() async throws {
        let settings = settings()
        try await held(settings)
        for _ in 0..<PairingSettings.mostRepairs {
            try tell([.powered, .bondable])
            #expect(try await set(.setSecureConnections) == true)
        }
        try tell([.powered, .bondable])
        kernel.management.submit(ManagementReadInformation()) { _ in }
        try await answerInformation([.powered, .bondable])
        settings.release()
        #expect(try await set(.setBondable) == false)
        #expect(try await set(.setSecureConnections) == false)
    }

    @Test func `what is switched off now and then, for months, is on again each time`() async throws {
        let settings = settings(step: PairingSettings.calm)
        try await held(settings)
        for _ in 0..<(3 * PairingSettings.mostRepairs) {
            try tell([.powered, .bondable])
            #expect(try await set(.setSecureConnections) == true)
        }
        // What is answered behind the release is switched off by itself.
        try await settle()
        settings.release()
        #expect(try await set(.setBondable) == false)
        #expect(try await set(.setSecureConnections) == false)
    }

    @Test func `after the end nothing is mended`() async throws {
        let settings = settings()
        try await held(settings)
        settings.release()
        #expect(try await set(.setBondable) == false)
        try tell([.powered])
        kernel.management.submit(ManagementReadInformation()) { _ in }
        try await answerInformation([.powered])
    }

    @Test func `who lets go while they are switched on leaves them off`() async throws {
        let settings = settings()
        let held = hold(settings)
        try await answerInformation([.powered, .secureConnections])
        let command = await kernel.next()
        settings.release()
        let opcode = ManagementOpcode.setBondable.rawValue
        try kernel.tell(1, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), 0] + Self.none)
        #expect(command?.parameters == [1])
        #expect(try await set(.setBondable) == false)
        _ = await held.next()
    }

    @Test func `an adapter that refuses is told, and nothing is noted`() async throws {
        let held = hold(settings())
        try await answerInformation([.powered, .secureConnections])
        _ = try await kernel.answer(.notSupported)
        #expect(await held.next() == false)
        #expect(leftovers.left(on: adapter).isEmpty)
    }

    // MARK: - A program that is killed

    private func clear(bluetoothd: Bluetoothd.Presence) -> Events<Void> {
        Events { [kernel, leftovers, adapter] yield in
            leftovers.clear(of: adapter, through: kernel.management, bluetoothd: { bluetoothd }) { yield(()) }
            return RadioActivity {}
        }
    }

    private func noteAll() {
        let kinds: [KernelThing.Kind] = [.bondable, .secureConnections, .capability]
        withExtendedLifetime(kinds.map { leftovers.note(KernelThing($0, 0, of: adapter)) }) {}
    }

    @Test func `what one has left on that was killed is switched off by the next one`() async throws {
        noteAll()
        let cleared = clear(bluetoothd: .absent)
        #expect(try await set(.setBondable) == false)
        let capability = try await kernel.answer()
        #expect(capability?.opcode == .setIOCapability && capability?.parameters == [3])
        #expect(try await set(.setSecureConnections) == false)
        #expect(await cleared.next() != nil)
        #expect(leftovers.left(on: adapter).isEmpty)
    }

    @Test(arguments: [Bluetoothd.Presence.here, .unknown])
    func `where bluetoothd may want them they stay as they are`(_ bluetoothd: Bluetoothd.Presence) async throws {
        noteAll()
        let cleared = clear(bluetoothd: bluetoothd)
        #expect(await cleared.next() != nil)
        #expect(leftovers.left(on: adapter).isEmpty)
        kernel.management.submit(ManagementReadInformation()) { _ in }
        try await answerInformation([.powered, .bondable])
    }

    @Test func `one that runs is left alone`() async throws {
        let settings = settings()
        try await held(settings)
        let cleared = clear(bluetoothd: .absent)
        #expect(await cleared.next() != nil)
        settings.release()
        #expect(try await set(.setBondable) == false)
    }
}
