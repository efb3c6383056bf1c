import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// What the kernel pairs by itself, at a peripheral's request, when this program pairs with that, too.
@Suite(.timeLimit(.minutes(10))) struct RequestedPairingsTests {
    private typealias Outcome = Result<Bond?, BLEError>

    private let kernel: KernelDouble
    private let unasked: UnaskedPairings

    init() throws {
        kernel = try KernelDouble()
        unasked = kernel.unaskedPairings()
    }

    private var surroundings: PairingSurroundings {
        var surroundings = kernel.pairingSurroundings()
        surroundings.unasked = unasked
        return surroundings
    }

    @Test(arguments: [true, false])
    func `the bond of one that is over before the kernel takes the command is told`(_ isKept: Bool) async throws {
        let outcomes = try await kernel.begunPairing()
        try kernel.tellKey(kind: 2, isKept: isKept)
        try kernel.answer(to: .pairDevice, .alreadyPaired, with: ManagementAddress(.example).octets)
        let bond = try #require(await outcomes.next()).get()
        #expect(bond?.peer == (isKept ? .example : nil))
    }

    /// Has the kernel ask about a peripheral of this radio before this program pairs with it.
    private func ask(_ event: UInt8, _ rest: [UInt8]) async throws -> RadioActivity {
        let link = unasked.attend(.example)
        try kernel.tellOfPeer(0x0B, [8, 0, 0, 0, 0, 0])
        try kernel.tellOfPeer(event, rest)
        let isRead = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        try await prepare()
        _ = await isRead.next()
        return link
    }

    /// Says what the adapter can do, which is asked.
    private func prepare() async throws {
        let information = KernelDouble.information([.powered, .bondable, .secureConnections])
        let command = try await kernel.answer(with: information)
        try #require(command?.opcode == .readInformation)
    }

    /// Takes the next command, which is this one.
    private func take(_ opcode: ManagementOpcode) async throws {
        let command = await kernel.next()
        try #require(command?.opcode == opcode)
    }

    private static let consent: [UInt8] = [1, 0, 0, 0, 0]

    @Test func `the consent that nobody has given yet is given by a program that pairs by Just Works`() async throws {
        let link = try await ask(0x0F, Self.consent)
        let outcomes = kernel.pairing(in: surroundings)
        try await prepare()
        try await take(.userConfirmationReply)
        try await take(.pairDevice)
        #expect(!kernel.timeline.delays.contains(UnaskedPairings.patience))
        try kernel.tellKey(kind: 2)
        try kernel.answer(to: .pairDevice, .success, with: ManagementAddress(.example).octets)
        #expect(try #require(await outcomes.next()).get()?.peer == .example)
        link.cancel()
    }

    @Test func `nor is consent given to what may be over since events were lost`() async throws {
        let link = try await ask(0x0F, Self.consent)
        unasked.missedEvents()
        let outcomes = kernel.pairing(in: surroundings)
        try await prepare()
        try await take(.userConfirmationNegativeReply)
        try kernel.answer(to: .userConfirmationNegativeReply, .failed, with: ManagementAddress(.example).octets)
        try await take(.pairDevice)
        try kernel.tellOfPeer(0x0F, Self.consent)
        try await take(.userConfirmationReply)
        outcomes.activity.cancel()
        link.cancel()
    }

    /// The consent, a passkey to enter, one to show.
    private static let questions: [(UInt8, [UInt8])] = [(0x0F, consent), (0x10, []), (0x17, [1, 0, 0, 0, 0])]

    /// Takes the refusal of what was asked before, whose end the kernel tells before it answers.
    private func takeRefusal() async throws {
        try await take(.userConfirmationNegativeReply)
        try kernel.tellOfPeer(0x11, [ManagementStatus.authenticationFailed.rawValue])
        try kernel.answer(to: .userConfirmationNegativeReply, .success, with: ManagementAddress(.example).octets)
    }

    @Test(arguments: questions)
    func `anything else is refused, and the kernel pairs anew with what the program can answer`(
        _ event: UInt8,
        _ rest: [UInt8]
    ) async throws {
        let link = try await ask(event, rest)
        let interview = PairingInterview(.keyboardOnly) { _, reply in reply(.passkey(1)) }
        let outcomes = kernel.pairing(in: surroundings, asking: interview)
        try await prepare()
        try await takeRefusal()
        try await take(.pairDevice)
        try kernel.tellOfPeer(0x10, [])
        try await take(.userPasskeyReply)
        #expect(outcomes.count == 0)
        outcomes.activity.cancel()
        link.cancel()
    }

    @Test(arguments: questions)
    func `its refusal is not the end of a pairing for better keys`(_ event: UInt8, _ rest: [UInt8]) async throws {
        let link = try await ask(event, rest)
        let (demands, demanded) = AsyncStream<Void>.makeStream()
        let (kernel, surroundings) = (kernel, surroundings)
        let outcomes = Events<Outcome> { yield in
            let pairing = PairingAnew(
                with: .example,
                in: surroundings,
                asking: PairingInterview(.keyboardOnly) { _, reply in reply(.passkey(1)) },
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            ) { demanded.yield() }
            kernel.loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        try await prepare()
        try await takeRefusal()
        for await _ in demands { break }
        try kernel.tellKey(kind: 3)
        #expect(try #require(await outcomes.next()).get()?.isAuthenticated == true)
        link.cancel()
    }
}
