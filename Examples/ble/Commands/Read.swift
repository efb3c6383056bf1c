import BLEStreams

/// Reads one value.
struct Read: Command {
    static let name = "read"
    static let summary = "read a value"
    static let parameters = ["ADDRESS", "CHARACTERISTIC"]
    static let options = [Option.fresh, Option.deadline] + SecurityOptions.options
    static let notes = SecurityOptions.notes

    private let peripheral: PeripheralName
    private let characteristic: CharacteristicName
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        characteristic = try CharacteristicName(words[1])
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
    }

    func run(in environment: CommandEnvironment) async throws {
        let deadline = limit.map { Deadline(in: $0) }
        let value = try await environment.withLink(to: peripheral, deadline, security: security) { link in
            if characteristic.reference.handle == nil { _ = try await environment.discover(link, deadline) }
            return try await link.read(characteristic, timeout: deadline?.remaining)
        }
        try environment.output.print(value.json, value.readableText)
    }
}
