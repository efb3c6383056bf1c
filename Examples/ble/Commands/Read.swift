import BLEStreams

/// Reads one value.
struct Read: Command {
    static let name = "read"
    static let summary = "read a value"
    static let parameters = ["ADDRESS", "CHARACTERISTIC"]
    static let options = ValueStyle.options + [Option.fresh, Option.deadline] + SecurityOptions.options
    static let notes = CharacteristicName.descriptorNote + SecurityOptions.notes

    private let peripheral: PeripheralName
    private let characteristic: CharacteristicName
    private let limit: Duration?
    private let security: SecurityOptions
    private let style: ValueStyle

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        characteristic = try CharacteristicName(words[1], mayBeDescriptor: true)
        style = try ValueStyle(arguments, of: characteristic)
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
    }

    func run(in environment: CommandEnvironment) async throws {
        let deadline = limit.map { Deadline(in: $0) }
        let value = try await environment.withLink(to: peripheral, deadline, security: security) { link in
            let attribute = try await environment.find(characteristic, on: link, deadline)
            return try await link.read(attribute, timeout: deadline?.remaining)
        }
        try environment.output.print(style.json(of: value), style.text(of: value), isWhole: style.isRaw)
    }
}
