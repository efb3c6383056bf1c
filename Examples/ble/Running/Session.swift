import BLEStreams

/// One run of a subcommand: the radio that it uses, and where it prints.
struct Session: Sendable {
    /// The central role on the adapter.
    let central: Central

    /// Where results go.
    let output: Output

    /// Where everything else goes.
    let log: Log

    /// Opens what the options ask for, runs the closure, and closes it again.
    static func run(
        _ options: CommonOptions,
        _ log: Log,
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws {
        let output = Output(isJSON: options.isJSON)
        try await withAdapter(options, log) { adapter in
            let central = try await Central.open(adapter)
            log.detail("using \(central.adapter.name)")
            try await body(Session(central: central, output: output, log: log))
        }
    }

    private static func withAdapter(
        _ options: CommonOptions,
        _ log: Log,
        _ body: @escaping @Sendable (AdapterChoice) async throws -> Void
    ) async throws {
        guard options.isSimulated else {
            return try await body(options.adapter.map { .adapter($0) } ?? .default)
        }
        log.say("this is a simulation; leave --simulated out to use a Bluetooth adapter, or name one: --adapter hci0")
        try await DemoAir.run(body)
    }
}
