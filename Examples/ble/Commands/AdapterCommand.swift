import BLEStreams

/// Shows the adapters, or switches one.
struct AdapterCommand: Command {
    static let name = "adapter"
    static let summary = "show the adapters, or switch one on or off"
    static let parameters = ["[on|off]"]
    static let options: [Option] = []
    static let notes = """
        Switching takes the capability CAP_NET_ADMIN, and concerns all programs of the machine; bluetoothd isn't needed.
        """

    private let isOn: Bool?

    init(_ arguments: Arguments) throws(UsageError) {
        if arguments.words.count > 1 { throw UsageError("'\(arguments.words[1])' is one word too many") }
        switch arguments.words.first {
        case nil: isOn = nil
        case "on": isOn = true
        case "off": isOn = false
        case let word?: throw UsageError("'\(word)': it is on or off, or nothing to show the adapters")
        }
    }

    func run(in environment: CommandEnvironment) async throws {
        if let isOn { try await environment.central.setPowered(isOn) }
        for adapter in try adapters(of: environment) { try environment.output.print(adapter.json, adapter.line) }
    }

    /// The one that was named, or switched, or simulated; else all that there are.
    private func adapters(of environment: CommandEnvironment) throws -> [AdapterInfo] {
        let own = environment.central.adapter
        let all = (try? Central.adapters()) ?? []
        let isOfThisMachine = all.contains { $0.name == own.name }
        return isOn != nil || environment.hasChosenAdapter || !isOfThisMachine ? [own] : all
    }
}

extension AdapterInfo {
    fileprivate var json: JSON {
        .object(
            ("adapter", .string(name)),
            ("address", .string(address.map { "\($0)" })),
            ("state", .string(state.rawValue))
        )
    }

    fileprivate var line: String { "\(name)  \(address.map { "\($0)" } ?? "no address yet")  \(state.words)" }
}
