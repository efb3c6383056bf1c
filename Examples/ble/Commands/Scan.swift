import BLEStreams
import ConsoleOutput
import Glibc

/// Lists the devices that advertise.
struct Scan: Command {
    static let name = "scan"
    static let summary = "list the devices that advertise nearby"
    static let parameters: [String] = []
    static let options =
        [
            Option("service", value: "UUID", help: "only devices that advertise this service; may be repeated"),
            Option("name-prefix", value: "P", help: "only devices whose name begins with P; may be repeated"),
            Option("rssi", value: "MIN..MAX", help: "only devices received this strongly, in dBm: -80.. or -80..-40"),
            Option("changes", help: "print a device again when what it advertises changes"),
            Option("duplicates", help: "print each advertisement instead of each device once"),
            Option("lines", help: "print a line for each device also at a terminal, instead of a table"),
            Option("passive", help: "only listen, without requesting scan responses"),
        ] + StreamLimits.options
    static let notes = """
        Without --timeout or --count it runs until Ctrl-C. At a terminal it shows a table that is kept up to date;
        --json, --changes, --duplicates, --lines or a pipe make it print lines.
        """

    private let filters: [ScanFilter]
    private let duplicates: Central.Duplicates
    private let printsLines: Bool
    private let mode: Central.ScanMode
    private let limits: StreamLimits

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        var filters = try arguments.uuids("service").map { ScanFilter.service($0) }
        for prefix in arguments.all("name-prefix") {
            guard !prefix.isEmpty else { throw UsageError.emptyNamePrefix }
            filters.append(.namePrefix(prefix))
        }
        if let window = try arguments.signalStrengths("rssi") { filters.append(.rssi(window)) }
        self.filters = filters
        switch (arguments.has("changes"), arguments.has("duplicates")) {
        case (true, true): throw UsageError("--changes and --duplicates exclude each other")
        case (true, false): duplicates = .changes
        case (false, true): duplicates = .all
        case (false, false): duplicates = .ignored
        }
        printsLines = arguments.has("lines")
        mode = arguments.has("passive") ? .passive : .active
        limits = try StreamLimits(
            Self.name,
            arguments,
            remedy: StreamLimits.usualRemedy
                + " If a scan finds no device at all, switch the adapter off and on with `ble adapter cycle`."
        )
    }

    func run(in environment: CommandEnvironment) async throws {
        let isLive = TerminalSize(of: STDOUT_FILENO) != nil && canRewriteLines(on: STDOUT_FILENO)
        if isLive, !printsLines, duplicates == .ignored, !environment.output.isJSON {
            return try await showTable(in: environment)
        }
        let found = environment.central.scan(for: filters, duplicates: duplicates, mode: mode)
        try await environment.printAll(found, limits) { discovery in
            try environment.output.print(discovery.json, discovery.text)
            return .value
        }
    }

    // MARK: - At a terminal

    /// How often the table is redrawn.
    private static let period = Duration.milliseconds(250)

    private func showTable(in environment: CommandEnvironment) async throws {
        let found = environment.central.scan(for: filters, duplicates: true, mode: mode).map { Optional($0) }
        let events = found.merge(with: BLEStream<Int>.interval(Self.period).map { _ in nil })
        var table = ScanTable()
        var screen = LiveScreen(environment.output, environment.log)
        defer { screen.end() }
        let start = ContinuousClock.now
        func draw(isOver: Bool = false) throws {
            let size = TerminalSize(of: STDOUT_FILENO) ?? TerminalSize(columns: 80, rows: 24)
            let time = start.duration(to: .now)
            let lines = table.lines(columns: size.columns, rows: size.rows, at: time, isOver: isOver)
            try screen.show(lines, on: size)
        }
        do {
            for try await discovery in limits.time.map({ events.prefix(for: $0) }) ?? events {
                guard let discovery else {
                    try draw()
                    continue
                }
                table.add(discovery.sighting, at: start.duration(to: .now))
                if table.count == limits.count { break }
            }
        } catch {
            if !(error is OutputClosed) {
                environment.print(despite: error) { try draw(isOver: true) }
            }
            throw error
        }
        try draw(isOver: true)
        try limits.check(table.count)
    }
}

extension Discovery {
    fileprivate var json: JSON {
        let manufacturerData = advertisement.manufacturerData.map { entry in
            JSON.object(("company", .number(entry.company)), ("data", .hex(entry.data)))
        }
        let serviceData = advertisement.serviceData.map { entry in
            JSON.object(("uuid", .string("\(entry.service)")), ("data", .hex(entry.data)))
        }
        let members = JSON.object(
            ("address", .string("\(address)")),
            ("addressType", .string(address.kind.rawValue)),
            ("rssi", .number(rssi)),
            ("name", .string(name)),
            ("services", .array(services.map { .string("\($0)") })),
            ("manufacturerData", .array(manufacturerData)),
            ("serviceData", .array(serviceData)),
            ("txPower", .number(advertisement.txPower)),
            ("appearance", .number(advertisement.appearance)),
            ("connectable", .bool(isConnectable)),
            ("adapter", .string(adapter)),
            ("time", .string(time.isoText))
        )
        guard case .object(let known) = members else { return members }
        return .object(known + advertisement.beacons)
    }

    fileprivate var text: String {
        var parts = ["\(address)", address.kind == .random ? "random" : "public"]
        parts.append(rssi.map { ($0 > -100 ? " \($0) dBm" : "\($0) dBm") } ?? "        ")
        if let name { parts.append("\"\(name.harmless)\"") }
        return (parts + details(nameOf: { "\($0)" })).joined(separator: "  ")
    }

    /// What the table shows of a discovery.
    fileprivate var sighting: ScanTable.Sighting {
        let details = details(nameOf: { $0.name ?? "\($0)" }).joined(separator: ", ")
        return ScanTable.Sighting(address: "\(address)", rssi: rssi, name: name, details: details)
    }

    private func details(nameOf: (BluetoothUUID) -> String) -> [String] {
        var parts = services.map(nameOf)
        parts += advertisement.beaconTexts
        parts += advertisement.manufacturerData.map { "company \($0.company.handleText):\($0.data.hexText)" }
        if let adapter { parts.append("by \(adapter)") }
        if !isConnectable { parts.append("(not connectable)") }
        return parts
    }
}
