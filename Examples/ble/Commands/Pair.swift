import BLEStreams

/// Pairs with a peripheral.
struct Pair: Command {
    static let name = "pair"
    static let summary = "pair with a device that asks for no number; later links to it are encrypted"
    static let parameters = ["ADDRESS"]
    static let options = [
        Option("read", value: "UUID", help: "pair only if this characteristic is refused, and read it then"),
        .deadline,
    ]

    private let peripheral: PeripheralName
    private let characteristic: BluetoothUUID?
    private let limit: Duration?

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(try arguments.parameters(Self.parameters)[0])
        let characteristics = try arguments.uuids("read")
        guard characteristics.count < 2 else { throw UsageError("--read is given once") }
        characteristic = characteristics.first
        limit = try arguments.seconds("timeout")
    }

    func run(in environment: CommandEnvironment) async throws {
        if let characteristic {
            try await run(PairingFlow(reading: characteristic), in: environment)
        } else {
            let deadline = limit.map { Deadline(in: $0) }
            let (address, security) = try await environment.withLink(to: peripheral, deadline) { link in
                try await link.pair(timeout: deadline?.remaining ?? .seconds(60))
                return (link.peripheral.address, link.security)
            }
            try show(address, security, in: environment)
        }
    }

    private func run(_ flow: PairingFlow, in environment: CommandEnvironment) async throws {
        let peripheral = try environment.peripheral(peripheral)
        let outcome = try await environment.talkingAbout(peripheral) {
            try await peripheral.withQueue { queue in
                try await FlowCoordinator(queue.connecting()).run(flow, deadline: limit) { progress in
                    environment.log.detail("pairing: \(progress.phase)")
                }
            }
        }
        try show(outcome.peripheral.address, outcome.security, outcome, in: environment)
    }

    private func show(
        _ address: BluetoothAddress,
        _ security: LinkSecurity,
        _ outcome: PairingOutcome? = nil,
        in environment: CommandEnvironment
    ) throws {
        // It was not needed where there was a bond, or where the characteristic asks for none.
        let how = outcome?.wasPaired == false ? "not paired anew" : "paired"
        let text = "\(address)  \(address.kind)  \(how), \(security.isEncrypted ? "encrypted" : "not encrypted")"
        try environment.output.print(
            .object(
                ("address", .string("\(address)")),
                ("addressType", .string(address.kind.rawValue)),
                ("encrypted", .bool(security.isEncrypted)),
                ("authenticated", .bool(security.isAuthenticated)),
                ("wasPaired", outcome.map { .bool($0.wasPaired) }),
                ("hex", outcome.map { .hex($0.value) })
            ),
            outcome.map { "\(text)\n\($0.value.readableText)" } ?? text
        )
    }
}
