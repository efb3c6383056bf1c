/// A subcommand: its name, its arguments, and what it does.
protocol Command: Sendable {
    /// Its name after `ble`.
    static var name: String { get }

    /// What it does, in a few words.
    static var summary: String { get }

    /// The required words, in order.
    static var parameters: [String] { get }

    /// Its options besides the common ones.
    static var options: [Option] { get }

    /// The rest of its help.
    static var notes: String { get }

    /// What it prints with `--json`.
    static var records: [Record] { get }

    /// The central that visits it in a simulation; `nil`: none.
    static var visitor: (any DemoVisitor)? { get }

    /// Reads its arguments.
    init(_ arguments: Arguments) throws(UsageError)

    /// Runs it with an adapter.
    func run(in environment: CommandEnvironment) async throws

    /// Opens what the options ask for, and runs it.
    func run(_ options: CommonOptions, _ log: Log) async throws
}

extension Command {
    static var notes: String { "" }
    static var records: [Record] { [] }
    static var visitor: (any DemoVisitor)? { nil }

    func run(_ options: CommonOptions, _ log: Log) async throws {
        try await CommandEnvironment.run(options, log, visitor: Self.visitor) { try await run(in: $0) }
    }
}

/// All subcommands, in the order of the help.
let commands: [any Command.Type] = [
    Scan.self, Info.self, LinkCommand.self, Read.self, Write.self, Notify.self, Transfer.self, Update.self, Shell.self,
    Serve.self, Verify.self, Advertise.self, Proxy.self, Pair.self, Unpair.self, Bonds.self, OutOfBand.self,
    AdapterCommand.self, Doctor.self, HelpCommand.self, Completions.self,
]
