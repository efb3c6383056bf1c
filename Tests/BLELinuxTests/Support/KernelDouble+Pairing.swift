import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// What a kernel tells in a pairing with the example peer, on an adapter with the address that ``adapter`` has.
extension KernelDouble {
    static let adapter = AdapterFacts(
        number: 0,
        address: BluetoothAddress(rawValue: 0xA0, kind: .public),
        flags: 1,
        features: []
    )

    /// A bond of the adapter's with another peer, which tells no identity key.
    static let bond = Bond(
        peer: BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random),
        adapter: adapter.address,
        encryptionKeys: SecretKey(octets: [UInt8](repeating: 7, count: 16)).map { key in
            [Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: key)]
        } ?? [],
        identityKey: nil
    )

    /// The answer to Read Controller Information, of an adapter that can all that pairings need unless said otherwise.
    static func information(
        _ current: ManagementSettings,
        supported: ManagementSettings = [.powered, .bondable, .secureConnections]
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.deviceAddress(adapter.address.rawValue)
        for _ in 0..<3 { writer.uint8(0) }
        writer.uint32(supported.rawValue)
        writer.uint32(current.rawValue)
        return writer.bytes + [UInt8](repeating: 0, count: 3 + 249 + 11)
    }

    /// What watches the pairings that no program has begun, without a bluetoothd.
    func unaskedPairings() -> UnaskedPairings {
        UnaskedPairings(
            management: management,
            bus: SystemBus(address: "unix:path=/nowhere/bus"),
            loop: loop,
            timeline: timeline,
            facts: { KernelDouble.adapter }
        )
    }

    /// Tells what concerns the peer.
    func tellOfPeer(_ event: UInt8, _ rest: [UInt8]) throws {
        var writer = ByteWriter()
        writer.managementAddress(ManagementAddress(.example))
        try tell(event, writer.bytes + rest)
    }

    /// Tells of a key of the peer's.
    func tellKey(
        kind: UInt8,
        initiator: UInt8 = 0,
        isKept: Bool = true,
        of peer: BluetoothAddress = .example
    ) throws {
        var writer = ByteWriter()
        writer.uint8(isKept ? 1 : 0)
        writer.managementAddress(ManagementAddress(peer))
        let key = [UInt8](repeating: 0, count: 10) + Array(1...16)
        try tell(0x0A, writer.bytes + [kind, initiator, 16] + key)
    }

    /// Tells that the peer has told its identity.
    func tellIdentity(_ identity: BluetoothAddress) throws {
        var writer = ByteWriter()
        writer.uint8(1)
        writer.deviceAddress(BluetoothAddress.example.rawValue)
        writer.managementAddress(ManagementAddress(identity))
        try tell(0x18, writer.bytes + Array(1...16))
    }

    /// Answers a command that was taken before.
    func answer(to opcode: ManagementOpcode, _ status: ManagementStatus, with parameters: [UInt8] = []) throws {
        try tell(1, [UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8), status.rawValue] + parameters)
    }

    /// A dialogue with the example peer, of a program that answers like this; there is no bluetoothd.
    func dialogue(asking interview: PairingInterview) -> PairingDialogue {
        let dialogue = PairingDialogue(
            with: .example,
            on: "hci0",
            asking: interview,
            management: management,
            bus: SystemBus(address: "unix:path=/nowhere/bus"),
            bluetoothd: .absent,
            loop: loop,
            timeline: timeline
        )
        dialogue.begin {}
        return dialogue
    }

    /// Has a dialogue receive an event about its peer.
    func tell(_ dialogue: PairingDialogue, _ code: UInt16, _ rest: [UInt8]) throws {
        var writer = ByteWriter()
        writer.managementAddress(ManagementAddress(.example))
        let parameters = (writer.bytes + rest)[...]
        let packet = ManagementPacket(code: code, index: ManagementIndex(rawValue: 0), parameters: parameters)
        let event = try ManagementEvent(decoding: packet)
        loop.enqueue { dialogue.received(event) }
    }

    /// What pairings on it work with: there is no bluetoothd, and no folder for notes.
    ///
    /// - Parameter facts: what is found of the adapter each time.
    func pairingSurroundings(
        keys: KernelKeys? = nil,
        facts: @escaping @Sendable () -> AdapterFacts? = { adapter }
    ) -> PairingSurroundings {
        let leftovers = Leftovers(folder: nil, boot: "")
        return PairingSurroundings(
            management: management,
            keys: keys ?? KernelKeys(management: management),
            settings: PairingSettings(management: management, leftovers: leftovers, timeline: timeline) {
                Self.adapter
            },
            adapter: "hci0",
            facts: facts,
            leftovers: leftovers,
            bus: SystemBus(address: "unix:path=/nowhere/bus"),
            bluetoothd: .absent,
            loop: loop,
            timeline: timeline
        )
    }

    /// A pairing on it, which begins with the loop's next turn.
    ///
    /// - Parameter surroundings: those of ``pairingSurroundings(keys:facts:)`` if `nil`.
    func pairing(
        with peer: BluetoothAddress = .example,
        in surroundings: PairingSurroundings? = nil,
        asking interview: PairingInterview = .justWorks
    ) -> Events<Result<Bond?, BLEError>> {
        let surroundings = surroundings ?? pairingSurroundings()
        return Events<Result<Bond?, BLEError>> { [loop] yield in
            let pairing = Pairing(
                with: peer,
                in: surroundings,
                asking: interview,
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            )
            loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
    }

    /// A pairing that the kernel has begun: it has said what the adapter can do, and has taken the command.
    func begunPairing(
        with peer: BluetoothAddress = .example,
        in surroundings: PairingSurroundings? = nil,
        asking interview: PairingInterview = .justWorks
    ) async throws -> Events<Result<Bond?, BLEError>> {
        let outcomes = pairing(with: peer, in: surroundings, asking: interview)
        let information = Self.information([.powered, .bondable, .secureConnections])
        let asked = try await answer(with: information)?.opcode
        let begun = await next()?.opcode
        #expect(asked == .readInformation && begun == .pairDevice)
        return outcomes
    }

    /// A pairing for better keys that has begun: the kernel has said what the adapter can do, and was asked for them.
    func begunPairingAnew(
        in surroundings: PairingSurroundings,
        asking interview: PairingInterview
    ) async throws -> Events<Result<Bond?, BLEError>> {
        let (demands, demanded) = AsyncStream<Void>.makeStream()
        let outcomes = Events<Result<Bond?, BLEError>> { [loop] yield in
            let pairing = PairingAnew(
                with: .example,
                in: surroundings,
                asking: interview,
                failure: { BLEError(.systemFailure, operation: "test", cause: "\($0)") },
                sink: EventSink(yield)
            ) { demanded.yield() }
            loop.enqueue { pairing.begin() }
            return RadioActivity { pairing.cancel() }
        }
        let information = Self.information([.powered, .bondable, .secureConnections])
        let asked = try await answer(with: information)?.opcode
        #expect(asked == .readInformation)
        for await _ in demands { break }
        return outcomes
    }
}
