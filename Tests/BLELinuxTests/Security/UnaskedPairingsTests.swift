import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// Pairings that a peripheral has requested, and that no program has begun.
@Suite(.timeLimit(.minutes(10))) struct UnaskedPairingsTests {
    private let kernel: KernelDouble
    private let unasked: UnaskedPairings
    private let link: RadioActivity

    init() throws {
        kernel = try KernelDouble()
        unasked = kernel.unaskedPairings()
        link = unasked.attend(.example)
    }

    private var isWaiting: Bool { kernel.timeline.delays.contains(UnaskedPairings.patience) }

    /// Tells of a link with the example peer.
    private func connect(asCentral: Bool = true) throws {
        try kernel.tellOfPeer(0x0B, [asCentral ? 8 : 0, 0, 0, 0, 0, 0])
    }

    /// Waits until all that the kernel has told is processed.
    private func settle() async throws {
        let answered = Events<Void> { [kernel] yield in
            kernel.loop.enqueue { kernel.management.submit(ManagementReadInformation()) { _ in yield(()) } }
            return RadioActivity {}
        }
        #expect(try await kernel.answer(with: KernelDouble.information([.powered]))?.opcode == .readInformation)
        _ = await answered.next()
    }

    @Test(arguments: [(0x0F, [1, 0, 0, 0, 0]), (0x10, [])] as [(UInt8, [UInt8])])
    func `one that no program answers is refused before the kernel ends the link for it`(
        _ event: UInt8,
        _ rest: [UInt8]
    ) async throws {
        try connect()
        try kernel.tellOfPeer(event, rest)
        try await settle()
        #expect(isWaiting)
        kernel.timeline.fire(UnaskedPairings.patience)
        #expect(try await kernel.answer()?.opcode == .userConfirmationNegativeReply)
    }

    @Test func `one of a peripheral that has told its identity is refused by that, and ends with that`() async throws {
        let identity = BluetoothAddress(rawValue: 0x00AA_0101_00C1, kind: .public)
        let octets = ManagementAddress(identity).octets
        try connect()
        try kernel.tellIdentity(identity)
        try kernel.tell(0x10, octets)
        try await settle()
        #expect(isWaiting)
        kernel.timeline.fire(UnaskedPairings.patience)
        let refusal = try await kernel.answer()
        #expect(refusal == KernelDouble.Command(opcode: .userConfirmationNegativeReply, parameters: octets))
        // A pairing of this program answers by itself, whichever of the two it names.
        for own in [BluetoothAddress.example, identity] {
            let end = unasked.engage(own)
            try kernel.tell(0x10, octets)
            try await settle()
            #expect(!isWaiting)
            end()
        }
        // The link ends under it, too: what is asked of another one is not this program's.
        try kernel.tell(0x0C, octets + [1])
        try kernel.tell(0x10, octets)
        try await settle()
        #expect(!isWaiting)
    }

    /// Its end, by a failure, a key, or the end of the link.
    @Test(arguments: [(0x11, [5]), (0x0C, [1]), (0x0A, [])] as [(UInt8, [UInt8])])
    func `one that has ended is not refused`(_ event: UInt8, _ rest: [UInt8]) async throws {
        try connect()
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        if event == 0x0A { try kernel.tellKey(kind: 2) } else { try kernel.tellOfPeer(event, rest) }
        try await settle()
        #expect(!isWaiting)
    }

    /// The adapter is removed, or switched off.
    @Test(arguments: [(0x05, []), (0x06, [0, 0, 0, 0])] as [(UInt8, [UInt8])])
    func `links that have ended with the adapter, and their questions, are forgotten`(
        _ event: UInt8,
        _ parameters: [UInt8]
    ) async throws {
        try connect()
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(isWaiting)
        try kernel.tell(event, parameters)
        try await settle()
        #expect(!isWaiting)
        // Of a link that this is not told of.
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(!isWaiting)
    }

    @Test(arguments: [true, false])
    func `behind a loss of events only the links of this radio are remembered`(_ isOwn: Bool) async throws {
        if !isOwn { link.cancel() }
        try connect()
        try await settle()
        unasked.missedEvents()
        let later = unasked.attend(.example)
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(isWaiting == isOwn)
        later.cancel()
    }

    @Test func `what comes on a link of another program is left to that`() async throws {
        link.cancel()
        try connect()
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(!isWaiting)
    }

    @Test func `a pairing of this program, and that of a central, are answered elsewhere`() async throws {
        try connect()
        let end = unasked.engage(.example)
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(!isWaiting)
        end()
        try connect(asCentral: false)
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        #expect(!isWaiting)
    }

    // MARK: - Bonds

    @Test(arguments: [false, true])
    func `the bond of one that nobody was asked about is told, unless it is a pairing of this program`(
        _ isOwn: Bool
    ) async throws {
        let bonds = Events<Bond> { [unasked] yield in unasked.watchBonds(of: .example, yield) }
        let end = isOwn ? unasked.engage(.example) : nil
        try connect()
        try kernel.tellKey(kind: 2)
        try await settle()
        #expect(bonds.count == (isOwn ? 0 : 1))
        end?()
        // One for this link only.
        try kernel.tellKey(kind: 2, isKept: false)
        try await settle()
        #expect(bonds.count == (isOwn ? 0 : 1))
        try kernel.tellKey(kind: 3)
        try await settle()
        #expect(bonds.count == (isOwn ? 1 : 2))
        let bond = await bonds.next()
        #expect(bond?.peer == .example && bond?.adapter == KernelDouble.adapter.address)
    }

    /// The second one comes, or the link ends, or time passes.
    @Test(arguments: [2, 1, 0])
    func `a legacy pairing is told with both of its keys, or with the one that there is`(_ way: Int) async throws {
        let bonds = Events<Bond> { [unasked] yield in unasked.watchBonds(of: .example, yield) }
        try connect()
        try kernel.tellKey(kind: 0, initiator: 1)
        try await settle()
        #expect(bonds.count == 0)
        switch way {
        case 2: try kernel.tellKey(kind: 0)
        case 1: try kernel.tellOfPeer(0x0C, [1])
        default: kernel.timeline.fire(PairingReceiver.patience)
        }
        try await settle()
        #expect(bonds.count == 1)
        #expect(await bonds.next()?.encryptionKeys.count == (way == 2 ? 2 : 1))
    }

    @Test func `what is answered by a pairing of this program that has come meanwhile is not refused`() async throws {
        try connect()
        try kernel.tellOfPeer(0x0F, [1, 0, 0, 0, 0])
        try await settle()
        let end = unasked.engage(.example)
        kernel.timeline.fire(UnaskedPairings.patience)
        // The next command that comes is this test's.
        try await settle()
        end()
    }
}
