import BLEProtocol
import BLERadio
import RadioContract
import Synchronization
import Testing

@testable import BLELinux

/// A central pairs with this machine: what the kernel asks, and what it is answered; there is no bluetoothd.
@Suite(.timeLimit(.minutes(10))) struct PairingReceiverTests {
    static let passkey: UInt32 = 624_813
    static let octets = (0..<4).map { UInt8(truncatingIfNeeded: passkey >> (8 * $0)) }

    /// Who is asked, and what it says each time.
    final class Program: Sendable {
        private let asked = Mutex<[PairingQuestion]>([])
        private let answers: [PairingQuestion.Answer]

        init(_ answers: [PairingQuestion.Answer]) { self.answers = answers }

        var questions: [PairingQuestion] { asked.withLock { $0 } }

        func reception(_ capability: PairingCapability) -> PairingReception {
            PairingReception(capability) { [self] _ in
                PairingInterview(capability) { [self] question, reply in
                    asked.withLock { $0.append(question) }
                    for answer in answers { reply(answer) }
                }
            }
        }
    }

    /// A kernel, and a program that receives pairings.
    final class Bench: Sendable {
        let kernel: KernelDouble
        let keys: KernelKeys
        let receiver: PairingReceiver
        let events: Events<PairingReceptionEvent>
        private let program: Program

        var questions: [PairingQuestion] { program.questions }

        /// - Parameters:
        ///   - capability: `nil` refuses pairings.
        ///   - bus: where bluetoothd is looked for; nowhere if `nil`.
        init(
            _ capability: PairingCapability?,
            answers: [PairingQuestion.Answer] = [],
            beside bluetoothd: Bluetoothd.Presence = .absent,
            on bus: SystemBus? = nil
        ) throws {
            let (kernel, program) = (try KernelDouble(), Program(answers))
            let keys = KernelKeys(management: kernel.management)
            (self.kernel, self.keys, self.program) = (kernel, keys, program)
            var surroundings = kernel.pairingSurroundings(keys: keys)
            (surroundings.bluetoothd, surroundings.bus) = (bluetoothd, bus ?? surroundings.bus)
            var made: PairingReceiver?
            events = Events { yield in
                let receiver = PairingReceiver(
                    capability.map { program.reception($0) } ?? .refused,
                    in: surroundings,
                    failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                    sink: EventSink(yield)
                )
                made = receiver
                kernel.loop.enqueue { receiver.begin() }
                return RadioActivity { receiver.cancel() }
            }
            receiver = try #require(made)
        }

        /// Lets it begin, on an adapter where all is as a pairing needs it.
        func begin(current: ManagementSettings = [.powered, .bondable, .secureConnections]) async throws {
            #expect(try await kernel.answer(with: KernelDouble.information(current))?.opcode == .readInformation)
        }

        /// - Parameter isInitiator: whether this machine has connected, not the peer.
        func connect(isInitiator: Bool = false) throws {
            try kernel.tellOfPeer(0x0B, [isInitiator ? 8 : 0, 0, 0, 0, 0, 0])
        }

        /// What the kernel hears next, after the receiver had its chance to say something.
        func nextCommand() async -> ManagementOpcode? { await kernel.next()?.opcode }
    }

    func begun(
        _ capability: PairingCapability? = .keyboardDisplay,
        answers: [PairingQuestion.Answer] = [],
        beside bluetoothd: Bluetoothd.Presence = .absent,
        on bus: SystemBus? = nil
    ) async throws -> Bench {
        let bench = try Bench(capability, answers: answers, beside: bluetoothd, on: bus)
        if capability != nil { try await bench.begin() }
        #expect(try await bench.kernel.answer()?.opcode == .setIOCapability)
        guard case .started = await bench.events.next() else {
            Issue.record("not started")
            return bench
        }
        return bench
    }

    @Test func `a bluetoothd that comes while it gets ready is told behind that`() async throws {
        let bench = try Bench(.displayOnly)
        let information = await bench.kernel.next()
        bench.kernel.loop.enqueue { bench.receiver.bluetoothdCame() }
        let opcode = ManagementOpcode.readInformation.rawValue
        let current = KernelDouble.information([.powered, .bondable, .secureConnections])
        try bench.kernel.tell(1, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), 0] + current)
        #expect(information?.opcode == .readInformation)
        #expect(try await bench.kernel.answer()?.opcode == .setIOCapability)
        try await bench.begin()
        #expect(try await bench.kernel.answer()?.opcode == .setIOCapability)
        guard case .started = await bench.events.next() else {
            Issue.record("not started")
            return
        }
    }

    @Test func `just works is agreed to, and the bond is told`() async throws {
        let bench = try await begun(.noInputNoOutput)
        try bench.connect()
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationReply)
        try bench.kernel.tellKey(kind: 2)
        guard case .paired(.example, let bond?) = await bench.events.next() else {
            Issue.record("not paired")
            return
        }
        #expect(bond.peer == .example && !bond.isAuthenticated && bench.questions.isEmpty)
        #expect(bench.keys.isKnown(.example))
    }

    @Test(
        arguments: [
            (0x0F, [0] + octets, .accept, 0x1C), (0x0F, [0] + octets, .refuse(.refused), 0x1D),
            (0x10, [], .passkey(passkey), 0x1E), (0x10, [], .refuse(.unanswered), 0x1F),
            (0x17, octets + [0], .refuse(.refused), 0x1D),
        ] as [(UInt8, [UInt8], PairingQuestion.Answer, UInt16)]
    )
    func `what is asked is put to the program, and its answer to the kernel`(
        _ event: UInt8,
        _ rest: [UInt8],
        _ answer: PairingQuestion.Answer,
        _ opcode: UInt16
    ) async throws {
        let bench = try await begun(answers: [answer])
        try bench.connect()
        try bench.kernel.tellOfPeer(event, rest)
        #expect(await bench.nextCommand()?.rawValue == opcode)
        let shown = PairingQuestion.display(Self.passkey, typed: 0)
        #expect(bench.questions == [event == 0x10 ? .passkey : event == 0x17 ? shown : .comparison(Self.passkey)])
        guard case .refuse(let reason) = answer else { return }
        try bench.kernel.tellOfPeer(0x11, [5])
        guard case .failed(.example, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == reason && error.code == .securityFailed && !error.remedy.isEmpty)
    }

    @Test func `a passkey is shown; a central that gives up or enters another one is told`() async throws {
        let bench = try await begun()
        try bench.connect()
        try bench.kernel.tellOfPeer(0x17, Self.octets + [0])
        try bench.kernel.tellOfPeer(0x11, [5])
        guard case .failed(_, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .wrongPasskey && bench.questions == [.display(Self.passkey, typed: 0)])
        try bench.kernel.tellOfPeer(0x17, Self.octets + [0])
        try bench.kernel.tellOfPeer(0x0C, [1])
        guard case .failed(_, let left) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(left.pairingFailure == .refusedByCentral)
    }

    @Test func `a central that does not go on is no central that refuses`() async throws {
        let bench = try await begun()
        try bench.connect()
        try bench.kernel.tellOfPeer(0x17, Self.octets + [0])
        // The kernel itself has dropped the link.
        try bench.kernel.tellOfPeer(0x0C, [2])
        guard case .failed(_, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .timedOut && error.cause.contains("30 s"))
    }

    @Test func `a pairing that this machine has begun is somebody else's`() async throws {
        let bench = try await begun()
        try bench.connect(isInitiator: true)
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try bench.kernel.tellKey(kind: 2)
        try bench.kernel.tellOfPeer(0x11, [5])
        try bench.kernel.tellOfPeer(0x0C, [1])
        try bench.connect()
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationReply)
        // The next command would be a second answer.
        bench.kernel.management.submit(ManagementReadInformation()) { _ in }
        #expect(await bench.nextCommand() == .readInformation)
    }

    @Test func `the two keys of a legacy pairing make one bond`() async throws {
        let bench = try await begun()
        try bench.connect()
        try bench.kernel.tellKey(kind: 0)
        try bench.kernel.tellKey(kind: 0, initiator: 1)
        guard case .paired(_, let bond?) = await bench.events.next() else {
            Issue.record("not paired")
            return
        }
        #expect(bond.encryptionKeys.map(\.initiator) == [0, 1])
    }

    @Test(arguments: [true, false])
    func `the only key of a legacy pairing is a bond, also where its central leaves at once`(
        _ isAsked: Bool
    ) async throws {
        let bench = try await begun(.noInputNoOutput)
        try bench.connect()
        if isAsked {
            try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
            #expect(await bench.nextCommand() == .userConfirmationReply)
        }
        try bench.kernel.tellKey(kind: 0)
        try bench.kernel.tellOfPeer(0x0C, [3])
        // The next pairing is another one.
        try bench.connect()
        try bench.kernel.tellKey(kind: 2)
        guard case .paired(.example, let bond?) = await bench.events.next() else {
            Issue.record("not paired")
            return
        }
        #expect(bond.encryptionKeys.map(\.kind) == [0])
    }

    @Test(arguments: [PairingCapability.displayYesNo, .noInputNoOutput], [true, false])
    func `bluetoothd's agent has a pairing ended whose question may be lost, unless that is consent alone`(
        _ capability: PairingCapability,
        _ isAsked: Bool
    ) async throws {
        let bench = try await begun(capability)
        let isConsent = capability == .noInputNoOutput
        try bench.connect()
        bench.kernel.management.whenRead {
            bench.receiver.state.withLock { $0.agentOutcome = .ready }
            let octets = BluetoothAddress.example.rawValue
            if isAsked { bench.receiver.bluetoothdAsked(.asked(octets: octets, isConsent: isConsent)) }
            bench.receiver.missedEvents()
        }
        let link = [1, 0] + ManagementAddress(.example).octets
        #expect(try await bench.kernel.answer(with: link)?.opcode == .getConnections)
        bench.kernel.management.whenRead { bench.kernel.management.submit(ManagementReadInformation()) { _ in } }
        #expect(await bench.nextCommand() == (isConsent ? .readInformation : .userConfirmationNegativeReply))
        guard !isConsent else { return }
        try bench.kernel.tellOfPeer(0x11, [5])
        guard case .failed(.example, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.cause.contains("question") && !error.isFinal)
    }

    @Test func `a central that does not bond has paired without a bond`() async throws {
        let bench = try await begun()
        try bench.connect()
        try bench.kernel.tellKey(kind: 2, isKept: false)
        guard case .paired(.example, nil) = await bench.events.next() else {
            Issue.record("not paired")
            return
        }
    }

    @Test func `who refuses says no, also to what the kernel has agreed to unasked`() async throws {
        let bench = try await begun(nil)
        try bench.connect()
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationNegativeReply)
        try bench.kernel.tellKey(kind: 2)
        #expect(await bench.nextCommand() == .unpairDevice)
        guard case .failed(_, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .refused && !bench.keys.isKnown(.example))
    }

    @Test func `a bond that somebody made sure of is not replaced by just works`() async throws {
        let bench = try await begun()
        try bench.connect()
        try bench.kernel.tellKey(kind: 3)
        guard case .paired = await bench.events.next() else {
            Issue.record("not paired")
            return
        }
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationNegativeReply)
        try bench.kernel.tellOfPeer(0x11, [5])
        guard case .failed(_, let error) = await bench.events.next() else {
            Issue.record("not failed")
            return
        }
        #expect(error.pairingFailure == .wouldWeakenBond)
    }

    @Test func `so is none that was given to the kernel again`() async throws {
        let bench = try await begun()
        let key = Bond.EncryptionKey(
            kind: 3,
            initiator: 0,
            size: 16,
            diversifier: 0,
            random: 0,
            value: try #require(SecretKey(octets: Array(1...16)))
        )
        let bond = Bond(
            peer: .example,
            adapter: BluetoothAddress(rawValue: 0xA0, kind: .public),
            encryptionKeys: [key]
        )
        let current = KernelKeyList([bond])
        bench.keys.load([bond], on: "hci0", current: current, bluetoothd: .absent) { _ in }
        try bench.connect()
        try bench.kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        #expect(await bench.nextCommand() == .userConfirmationNegativeReply)
    }

    @Test func `what was off is switched on, and off again in the end`() async throws {
        let bench = try Bench(.displayOnly)
        try await bench.begin(current: [.powered])
        let settings: [UInt8] = [0, 0, 0, 0]
        let on = [try await bench.kernel.answer(with: settings), try await bench.kernel.answer(with: settings)]
        #expect(on.map { $0?.opcode } == [.setBondable, .setSecureConnections])
        #expect(on.allSatisfy { $0?.parameters == [1] })
        #expect(try await bench.kernel.answer()?.parameters == [0])
        guard case .started = await bench.events.next() else {
            Issue.record("not started")
            return
        }
        bench.events.activity.cancel()
        let capability = try await bench.kernel.answer()
        #expect(capability?.opcode == .setIOCapability && capability?.parameters == [3])
        let off = [try await bench.kernel.answer(with: settings), try await bench.kernel.answer(with: settings)]
        #expect(off.map { $0?.opcode } == [.setBondable, .setSecureConnections])
        #expect(off.allSatisfy { $0?.parameters == [0] })
    }
}
