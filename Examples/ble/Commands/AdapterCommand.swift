import BLEStreams

/// Shows the adapters, switches one on or off, or selects the PHYs of its links.
struct AdapterCommand: Command {
    /// What to do with an adapter.
    private enum Action: String, CaseIterable {
        case on, off, cycle, reset, phys, privacy
    }

    static let name = "adapter"
    static let summary = "show the adapters; switch one on or off, power-cycle or reset it; set its PHYs or its privacy"
    static let parameters = ["[on|off|cycle|reset|phys|privacy]"]
    static let options = [
        Option(
            "set",
            value: "VALUE",
            help: "phys: the PHYs for links from now on, like 1M,2M,Coded; 1M is always included. privacy: on or off"
        ),
        Option("interrupt", help: "privacy: even if that ends links, advertising or scans"),
    ]
    static let notes = """
        cycle switches the adapter off and on, which cures most adapters that receive nothing or don't answer. reset is
        for those that it doesn't cure: a USB device restarts as if it were unplugged and plugged in again. phys shows
        the PHYs of an adapter; the two sides of a link agree on one of them, which `ble link ADDRESS` shows. privacy
        shows whether an adapter uses changing private addresses; devices paired from then on recognise it by its key.
        The setting lasts until the adapter is unplugged or reset, or the machine restarts, and the adapter is switched
        off and on for it. If bluetoothd runs, set Privacy in /etc/bluetooth/main.conf instead.

        All of this affects all programs of the machine, and doesn't need bluetoothd. It requires the capability
        CAP_NET_ADMIN; a reset also requires permission to write to the device's file in /dev/bus/usb.
        """

    private let action: Action?
    private let phys: Set<LinkConditions.PHY>?
    private let privacy: Bool?
    private let interrupts: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        if arguments.words.count > 1 { throw UsageError("'\(arguments.words[1])' is an extra argument") }
        action = arguments.words.first.flatMap { Action(rawValue: $0) }
        phys = action == .phys ? try arguments.phys("set") : nil
        privacy = action == .privacy ? try arguments.isOn("set") : nil
        interrupts = arguments.has("interrupt")
        if action == nil, let word = arguments.words.first {
            let all = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("'\(word)': write \(all), or nothing to show the adapters")
        }
        if arguments.has("set"), action != .phys, action != .privacy {
            throw UsageError("--set is for 'adapter phys' and 'adapter privacy'")
        }
        if interrupts, privacy == nil { throw UsageError("--interrupt is for 'adapter privacy --set'") }
    }

    func run(in environment: CommandEnvironment) async throws {
        let central = environment.central
        let say: @Sendable (AdapterInfo) -> Void = { [log = environment.log] adapter in
            log.say("\(adapter.name) is \(adapter.state.words)")
        }
        switch action {
        case nil: break
        case .on?: try await central.setPowered(true)
        case .off?: try await central.setPowered(false)
        case .cycle?: try await central.powerCycle(seen: say)
        case .reset?: try await central.reset(seen: say)
        case .phys?: return try await showPHYs(selecting: phys, in: environment)
        case .privacy?: return try await showPrivacy(setting: privacy, in: environment)
        }
        for adapter in try adapters(of: environment) { try environment.output.print(adapter.json, adapter.line) }
    }

    private func showPHYs(selecting phys: Set<LinkConditions.PHY>?, in environment: CommandEnvironment) async throws {
        let central = environment.central
        if let phys { try await central.selectPHYs(AdapterPHYs.Selection(phys)) }
        let result = try await central.adapterPHYs()
        let name = central.adapter.name
        try environment.output.print(result.json(name), "\(name)  \(result.line)")
    }

    private func showPrivacy(setting privacy: Bool?, in environment: CommandEnvironment) async throws {
        let central = environment.central
        if let privacy { try await central.setPrivacy(privacy, interrupting: interrupts) }
        let (name, isPrivate) = (central.adapter.name, try await central.privacy())
        try environment.output.print(
            .object(("adapter", .string(name)), ("private", .bool(isPrivate))),
            "\(name)  \(isPrivate ? "uses changing private addresses" : "uses its own address")"
        )
    }

    /// The adapter that was named, switched or simulated; otherwise all of them.
    private func adapters(of environment: CommandEnvironment) throws -> [AdapterInfo] {
        let own = environment.central.adapter
        let all = (try? Central.adapters()) ?? []
        // Joined adapters have the names of all.
        let names = own.name.split(separator: "+")
        let chosen = all.filter { names.contains(Substring($0.name)) }
        if chosen.isEmpty { return [own] }
        return action != nil || environment.hasChosenAdapter ? chosen : all
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

extension AdapterPHYs {
    fileprivate func json(_ adapter: String) -> JSON {
        .object(
            ("adapter", .string(adapter)),
            ("supported", supported.json),
            ("configurable", configurable.json),
            ("selected", selected.json)
        )
    }

    fileprivate var line: String { "supports \(supported)  configurable \(configurable)  uses \(selected)" }
}

extension AdapterPHYs.Selection {
    fileprivate var json: JSON {
        .object(("sending", Self.list(sending)), ("receiving", Self.list(receiving)))
    }

    private static func list(_ phys: Set<LinkConditions.PHY>) -> JSON {
        .array(LinkConditions.PHY.allCases.filter(phys.contains).map { .string($0.rawValue) })
    }
}

extension Arguments {
    /// `on` or `off`.
    fileprivate func isOn(_ name: String) throws(UsageError) -> Bool? {
        switch last(name) {
        case nil: return nil
        case "on": return true
        case "off": return false
        case let other?: throw UsageError("--\(name) '\(other)': write on or off")
        }
    }

    /// Names of PHYs, separated by commas.
    fileprivate func phys(_ name: String) throws(UsageError) -> Set<LinkConditions.PHY>? {
        guard let text = last(name) else { return nil }
        var phys: Set<LinkConditions.PHY> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let phy = LinkConditions.PHY.allCases.first(where: { $0.rawValue.lowercased() == word.lowercased() })
            else { throw UsageError("--\(name) '\(text)': write PHYs like 1M,2M,Coded") }
            phys.insert(phy)
        }
        return phys
    }
}
