import BLEStreams
import ConsoleOutput

/// Pairs with a peripheral.
struct Pair: Command {
    static let name = "pair"
    static let summary = "pair with a device; later links to it are encrypted"
    static let parameters = ["ADDRESS"]
    static let options =
        [
            Option(
                "name-prefix",
                value: "P",
                help: "pair with the first device whose name begins with P, instead of ADDRESS"
            ),
            Option("read", value: "UUID", help: "pair only if this characteristic is refused, then read it"),
            .deadline,
        ] + SecurityOptions.answers
    static let notes = """
        At a terminal it asks for a passkey, or whether both devices show the same number. Elsewhere it asks nothing;
        for a device that shows a passkey, pass --passkey. A device with changing private addresses reveals its identity
        when it pairs. The bond is stored under that identity, which is printed: use it as ADDRESS from then on.

        A device that is already paired is not paired again, and no passkey is needed: wasPaired is then false. To pair
        anew, remove the bond on both sides, on this one with `ble unpair`. With --json an error contains the reason as
        pairingFailure: wrongPasskey, refusedByPeripheral, bondNotKept and so on. bondNotKept: the devices have paired,
        but the bond could not be written to its file.
        """

    /// The peripheral to pair with.
    private enum Partner {
        case named(PeripheralName)
        case prefixed(String)
    }

    private let partner: Partner
    private let characteristic: BluetoothUUID?
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        if let prefix = arguments.last("name-prefix") {
            guard arguments.words.isEmpty else { throw UsageError("--name-prefix and ADDRESS exclude each other") }
            guard !prefix.isEmpty else { throw UsageError.emptyNamePrefix }
            partner = .prefixed(prefix)
        } else {
            partner = .named(try PeripheralName(try arguments.parameters(Self.parameters)[0]))
        }
        let characteristics = try arguments.uuids("read")
        guard characteristics.count < 2 else { throw UsageError("pass --read only once") }
        characteristic = characteristics.first
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
    }

    /// Who answers the device's questions.
    private func answers(in environment: CommandEnvironment) -> PairingAnswers {
        let device =
            switch partner {
            case .named(let name): name.text
            case .prefixed: "the device"
            }
        return environment.answers(security, about: device) ?? PairingAnswers()
    }

    func run(in environment: CommandEnvironment) async throws {
        if let characteristic {
            let outcome: PairingFlow.Outcome
            do {
                outcome = try await pair(reading: characteristic, in: environment)
            } catch let error as BLEError {
                throw error.withoutLevel
            }
            try show(outcome.peripheral, outcome.security, outcome.wasPaired, outcome.value, in: environment)
        } else {
            let deadline = Deadline(in: limit ?? .seconds(60))
            let name = try await name(environment, deadline)
            let (peripheral, security, wasPaired) = try await environment.withLink(to: name, deadline) { link in
                // A bond has encrypted it already: nothing is paired, and nobody is asked for a passkey.
                let wasPaired = !link.security.isEncrypted
                try await link.pair(answers: answers(in: environment), timeout: deadline.remaining)
                return (link.peripheral, link.security, wasPaired)
            }
            try show(peripheral, security, wasPaired, in: environment)
        }
    }

    /// The device, as it would be named on the command line.
    private func name(_ environment: CommandEnvironment, _ deadline: Deadline) async throws -> PeripheralName {
        switch partner {
        case .named(let name): return name
        case .prefixed(let prefix):
            let limit = deadline.remaining
            let found: Discovery
            do {
                found = try await environment.central.scan(for: .namePrefix(prefix), .connectable)
                    .timeout(limit, for: .wholeStream).first()
            } catch let error as BLEError where error.code == .timedOut {
                throw BLEError.unheard(prefix, within: limit)
            }
            environment.log.say("found \(found.address), \"\((found.name ?? "").harmless)\"")
            return try PeripheralName(found.address.descriptionWithKind)
        }
    }

    private func pair(
        reading characteristic: BluetoothUUID,
        in environment: CommandEnvironment
    ) async throws -> PairingFlow.Outcome {
        let (limit, answers) = (limit ?? .seconds(60), self.answers(in: environment))
        let tell: @Sendable (CommandProgress) -> Void = { environment.log.detail("pairing: \($0.phase)") }
        switch partner {
        case .prefixed(let prefix):
            let flow = PairingFlow(reading: characteristic, limit: limit, answers: answers)
            return try await environment.central.pair(with: .namePrefix(prefix), by: flow, onProgress: tell)
        case .named(let name):
            let peripheral = try environment.peripheral(name)
            let deadline = Deadline(in: limit)
            // The limit of a flow doesn't cover the queue's connecting, which comes before it.
            let pairing = CommandBlock<PairingFlow.Outcome>("pairing") { context in
                try await PairingFlow(reading: characteristic, limit: deadline.remaining, answers: answers)
                    .run(in: context)
            }
            do {
                return try await environment.talkingAbout(peripheral) {
                    try await peripheral.withQueue { queue in
                        let flows = queue.connecting(timeout: deadline.remaining)
                        return try await flows.run(pairing, replacing: .activeFlow, onProgress: tell)
                    }
                }
            } catch let error as BLEError {
                throw deadline.completing(error)
            }
        }
    }

    private func show(
        _ peripheral: Peripheral,
        _ security: LinkSecurity,
        _ wasPaired: Bool,
        _ value: CharacteristicValue? = nil,
        in environment: CommandEnvironment
    ) throws {
        let address = peripheral.address
        let bond = peripheral.bond
        let identity = bond.map(\.peer).flatMap { $0 == address ? nil : $0 }
        // If pairing wasn't needed, there was a bond, or another program's keys, or the characteristic requires none.
        let isPaired = bond != nil || security.isEncrypted
        let how = wasPaired ? "paired" : isPaired ? "already paired" : "not paired"
        var text = "\(address)  \(address.kind)  \(how), \(security.isEncrypted ? "encrypted" : "not encrypted")"
        if let identity { text += "; the bond is stored as \(identity.descriptionWithKind)" }
        try environment.output.print(
            .object(
                ("address", .string("\(address)")),
                ("addressType", .string(address.kind.rawValue)),
                ("identity", identity.map { .string($0.descriptionWithKind) }),
                ("bonded", .bool(bond != nil)),
                ("encrypted", .bool(security.isEncrypted)),
                ("authenticated", .bool(security.isAuthenticated)),
                ("wasPaired", .bool(wasPaired)),
                ("hex", value.map { .hex($0) })
            ),
            value.map { "\(text)\n\($0.bytes.readableText)" } ?? text
        )
        guard security.isEncrypted, bond == nil else { return }
        let unpair = environment.isInShell ? "unpair" : "ble unpair \(address)"
        environment.log.say(
            "this link is encrypted, but no bond is stored for the next ones: another program has paired, or the "
                + "device keeps no bond. If it was bluetoothd, run `sudo ble bonds import --bluetoothd`; or run "
                + "`\(unpair)`, and pair again."
        )
    }
}

extension BLEError {
    /// The same for a command without --secure: who answers decides how secure the link becomes.
    fileprivate var withoutLevel: BLEError {
        var error = self
        error.remedy = remedy.replacing(
            ", \(LibraryPhrase.raiseOrPassAnswers.text)",
            with: ": run this at a terminal, or with --passkey"
        )
        return error
    }

    /// No device with such a name was heard.
    fileprivate static func unheard(_ prefix: String, within limit: Duration) -> BLEError {
        var error = BLEError(
            .timedOut,
            operation: "pair",
            object: "with a device named '\(prefix)…'",
            cause: "none was heard within \(limit.secondsText)",
            remedy: "Check that the device is on, in range and advertising, or allow more time with --timeout."
        )
        error.elapsed = limit
        return error
    }
}
