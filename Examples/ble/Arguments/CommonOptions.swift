import BLEStreams

/// The options of every subcommand.
struct CommonOptions: Sendable {
    /// The adapter's name, or `all`; `nil`: the first one that is switched on.
    let adapter: String?

    /// The word for all adapters.
    static let allAdapters = "all"

    /// The adapter, or all.
    var choice: AdapterChoice {
        switch adapter {
        case nil: .default
        case Self.allAdapters?: .all
        case let name?: .adapter(name)
        }
    }

    /// Whether a simulated radio replaces the adapter.
    let isSimulated: Bool

    /// Where the simulated devices store what they remember; `nil`: nowhere.
    let simulation: String?

    /// The option that replaces the adapter, if one does.
    var simulatingOption: String { simulation == nil ? "--simulated" : "--simulation" }

    /// Whether results are JSON objects.
    let isJSON: Bool

    /// Where ATT traffic is recorded.
    let capture: String?

    /// Whether services are discovered even if they are remembered.
    let isFresh: Bool

    /// What to do about an adapter that hears nothing, or doesn't answer.
    let recovery: RecoveryPlan

    /// Whether to report each change of a connection.
    let isVerbose: Bool

    /// Reads the options.
    init(_ arguments: Arguments) throws(UsageError) {
        adapter = arguments.last("adapter")
        simulation = arguments.last("simulation")
        isSimulated = arguments.has("simulated") || simulation != nil
        isJSON = arguments.has("json")
        capture = arguments.last("capture")
        isFresh = arguments.has("fresh")
        recovery =
            try arguments.seconds("recover").map { silence in
                RecoveryPlan(
                    steps: [.restartScan, .powerCycle, .powerCycle, .reset],
                    silence: silence,
                    patience: min(silence, .seconds(15)),
                    hearsAlways: true
                )
            } ?? RecoveryPlan()
        isVerbose = arguments.has("verbose")
        if simulation == "" { throw UsageError("--simulation needs the name of a folder") }
        if let adapter {
            guard !isSimulated else { throw UsageError("--adapter and \(simulatingOption) exclude each other") }
            let number = adapter.dropFirst(3)
            let isName =
                adapter.hasPrefix("hci") && !number.isEmpty && number.utf8.allSatisfy { (48...57).contains($0) }
                && UInt16(number) != nil
            guard isName || adapter == Self.allAdapters else {
                throw UsageError("--adapter '\(adapter)': adapters are called hci0, hci1 and so on, or all")
            }
        }
        if let capture, capture.isEmpty { throw UsageError("--capture needs the name of a file") }
    }
}
