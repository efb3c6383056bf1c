import BLEStreams
import ConsoleOutput

/// Says what prevents this machine from working with Bluetooth devices.
struct Doctor: Command {
    static let name = "doctor"
    static let summary = "examine this machine: adapters, permissions, other programs, the store; and say what to do"
    static let parameters: [String] = []
    static let options: [Option] = []
    static let notes = """
        It requires no permission and changes nothing. An obstacle makes a command fail, a limitation costs speed,
        information or reliability, and a note explains what may be observed. The exit status is 0 where there is no
        obstacle, and 1 otherwise. Without --adapter, one adapter that works is enough. What it says of permissions is
        about this program, in the shell, service or container that runs it.
        """

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        for option in ["simulated", "simulation"] where arguments.has(option) {
            throw UsageError("--\(option): there is nothing to examine in a simulation")
        }
        try arguments.refuseAdapterUse(by: Self.name)
    }

    func run(_ options: CommonOptions, _ log: Log) async throws {
        let output = Output(isJSON: options.isJSON)
        let adapter = options.adapter == CommonOptions.allAdapters ? nil : options.adapter
        let diagnosis = await Central.diagnose(adapter: adapter)
        do {
            try print(diagnosis, to: output)
        } catch is OutputClosed where !diagnosis.isUsable {
            // A reader that has enough makes no machine usable.
        }
        if !diagnosis.isUsable { throw AlreadyTold() }
    }

    private func print(_ diagnosis: Diagnosis, to output: Output) throws {
        try output.print(diagnosis.headJSON, diagnosis.headText)
        for finding in diagnosis.findings { try output.print(finding.json, finding.text) }
        let obstacles = diagnosis.findings.count { $0.severity == .obstacle }
        try output.print(
            .object(
                ("findings", .number(diagnosis.findings.count)),
                ("obstacles", .number(obstacles)),
                ("usable", .bool(diagnosis.isUsable))
            ),
            "\n" + (diagnosis.isUsable ? "no obstacles were found" : obstacles.counted("obstacle"))
        )
    }

    /// Does nothing: no adapter is opened.
    func run(in environment: CommandEnvironment) async throws {}
}

extension Diagnosis {
    fileprivate var headJSON: JSON {
        .object(
            ("system", .string(system)),
            (
                "adapters",
                .array(
                    adapters.map { adapter in
                        .object(
                            ("adapter", .string(adapter.name)),
                            ("address", .string(adapter.address.map { "\($0)" })),
                            ("state", .string(adapter.state.rawValue))
                        )
                    }
                )
            )
        )
    }

    fileprivate var headText: String {
        ([system] + adapters.map { "\($0.name) \($0.address.map { "\($0) " } ?? "")\($0.state.words)" })
            .joined(separator: ", ")
    }
}

extension Diagnosis.Finding {
    private var remedyText: String { BLEError.inCommands(remedy, about: object) }

    fileprivate var json: JSON {
        .object(
            ("finding", .string(kind.rawValue)),
            ("severity", .string("\(severity)")),
            ("object", object.isEmpty ? nil : .string(object)),
            ("cause", .string(cause)),
            ("remedy", .string(remedyText))
        )
    }

    /// One line for the finding, and one for the remedy.
    fileprivate var text: String {
        let place = object.isEmpty || cause.contains(object) ? "" : "\(object.harmless): "
        return "\n\(severity)  \(place)\(cause.harmless).\n    \(remedyText.harmless)"
    }
}

extension Int {
    /// `1 obstacle`, `2 obstacles`.
    fileprivate func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
