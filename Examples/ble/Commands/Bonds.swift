import BLEStreams

/// Lists the bonds on this machine, and transfers them to and from another one.
struct Bonds: Command {
    /// What to do with the bonds.
    private enum Action {
        case list
        case export(file: String)
        case adopt(file: String?)
    }

    static let name = "bonds"
    static let summary = "list the devices that this machine is paired with; export and import the keys"
    static let parameters = ["[export|import]", "[FILE]"]
    static let options = [
        Option(
            "bluetoothd",
            help: "import: the bonds of bluetoothd, instead of a FILE; requires root, only reads them"
        ),
        Option("folder", value: "FOLDER", help: "import: bluetoothd's folder; default: /var/lib/bluetooth"),
        Option("replace", help: "import: also replace existing bonds that have other keys"),
    ]
    static let notes = """
        export writes the keys of all bonds to a new FILE that only this user can read; it doesn't overwrite files.
        Anyone who has the file can impersonate this machine: delete it after importing it. The keys work only for an
        adapter with the same address. Only import needs an adapter. To list the bonds of bluetoothd, use
        `bluetoothctl devices Bonded`.
        """

    private let action: Action
    private let folder: String?
    private let replaces: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        var words = arguments.words
        let word = words.isEmpty ? nil : words.removeFirst()
        let isOfBluetoothd = arguments.has("bluetoothd")
        folder = arguments.last("folder")
        if folder == "" { throw UsageError("--folder needs the name of a folder") }
        replaces = arguments.has("replace")
        if words.first == "" { throw UsageError("FILE needs the name of a file") }
        switch word {
        case nil: action = .list
        case "export"?:
            guard let file = words.first else { throw UsageError("export: FILE is missing") }
            action = .export(file: file)
            words.removeFirst()
        case "import"?:
            guard words.isEmpty == isOfBluetoothd else {
                throw UsageError("import: pass either FILE or --bluetoothd")
            }
            action = .adopt(file: words.first)
            if !words.isEmpty { words.removeFirst() }
        case let word?: throw UsageError("'\(word)': write export or import, or nothing to list the bonds")
        }
        if let rest = words.first { throw UsageError("'\(rest)' is an extra argument") }
        guard case .adopt(let file) = action else {
            guard !isOfBluetoothd, folder == nil, !replaces else {
                throw UsageError("that option is for 'bonds import'")
            }
            return
        }
        if folder != nil, file != nil { throw UsageError("--folder is for --bluetoothd") }
    }

    /// Lists and exports also where there is no adapter: it may be plugged into another machine already, or be broken.
    func run(_ options: CommonOptions, _ log: Log) async throws {
        try await CommandEnvironment.run(options, log, usesAdapter: isImport) { try await run(in: $0) }
    }

    private var isImport: Bool {
        if case .adopt = action { true } else { false }
    }

    func run(in environment: CommandEnvironment) async throws {
        switch action {
        case .list:
            let bonds = try environment.bonds(for: "list bonds")
            try show(bonds, in: environment)
            if bonds.isEmpty { environment.log.say("there are no bonds; `ble pair ADDRESS` makes one") }
        case .export(let file):
            let bonds = try environment.bonds(for: "export bonds", "to \(file)")
            try Bond.export(bonds, to: file)
            let keys = bonds.count == 1 ? "1 bond" : "\(bonds.count) bonds"
            environment.log.say("the keys of \(keys) are in \(file); anyone who has it can use them")
        case .adopt(let file):
            let source = file ?? folder ?? "/var/lib/bluetooth"
            let bonds = try file == nil ? Bond.importedFromBluetoothd(in: source) : Bond.imported(from: source)
            try await environment.central.adopt(bonds, replacing: replaces)
            try show(bonds, in: environment)
            if bonds.isEmpty { environment.log.say("there are no bonds to import in \(source)") }
        }
    }

    private func show(_ bonds: [Bond], in environment: CommandEnvironment) throws {
        for bond in bonds {
            try environment.output.print(
                .object(
                    ("address", .string("\(bond.peer)")),
                    ("addressType", .string(bond.peer.kind.rawValue)),
                    ("adapter", .string("\(bond.adapter)")),
                    ("authenticated", .bool(bond.isAuthenticated))
                ),
                "\(bond.peer)  \(bond.peer.kind)  with \(bond.adapter)"
                    + (bond.isAuthenticated ? "  authenticated" : "")
            )
        }
    }
}

extension CommandEnvironment {
    /// The bonds on this machine, for the command's operation.
    ///
    /// - Throws: its error if not all of them can be read.
    func bonds(for operation: String, _ object: String = "") throws -> [Bond] {
        do {
            return try central.bonds
        } catch var error as BLEError {
            (error.operation, error.object) = (operation, object)
            throw error
        }
    }
}
