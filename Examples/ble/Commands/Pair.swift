import BLEStreams

/// Pairs with a peripheral.
struct Pair: Command {
    static let name = "pair"
    static let summary = "pair with a device that asks for no number; later links to it are encrypted"
    static let parameters = ["ADDRESS"]
    static let options = [Option.deadline]

    private let peripheral: PeripheralName
    private let limit: Duration?

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(try arguments.parameters(Self.parameters)[0])
        limit = try arguments.seconds("timeout")
    }

    func run(in environment: CommandEnvironment) async throws {
        let deadline = limit.map { Deadline(in: $0) }
        let (address, security) = try await environment.withLink(to: peripheral, deadline) { link in
            try await link.pair(timeout: deadline?.remaining ?? .seconds(60))
            return (link.peripheral.address, link.security)
        }
        try environment.output.print(
            .object(
                ("address", .string("\(address)")),
                ("addressType", .string(address.kind.rawValue)),
                ("encrypted", .bool(security.isEncrypted)),
                ("authenticated", .bool(security.isAuthenticated))
            ),
            "\(address)  \(address.kind)  paired, \(security.isEncrypted ? "encrypted" : "not encrypted")"
        )
    }
}
