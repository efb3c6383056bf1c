import BLEDevices
import BLEStreams

/// Tests whether a device behaves as it claims, or as a file describes it.
struct Verify: Command {
    static let name = "verify"
    static let summary = "test whether a device behaves as it claims, or as a file describes it"
    static let parameters = ["ADDRESS"]
    static let options =
        [
            Option("database", value: "FILE", help: "compare with a file, as `ble info --json` prints it"),
            Option("write", help: "write each readable and writable value, with the octets just read"),
            Option.deadline,
        ] + SecurityOptions.options
    static let notes = """
        It reads readable values, briefly subscribes to those that notify or indicate, and prints deviations from the
        file: missing attributes, different properties and descriptors, refused operations, and values shown on a link
        that is less secure than declared. It doesn't compare values of characteristics, and ignores the services 1800
        and 1801 of the file. Without --database the device is compared with its own claims.

        With findings the exit status is 1. With --secure everything is tested twice: first on the link as it is,
        without pairing, then at that security level, with the answers of --passkey, --oob, --just-works or --claim.
        Nothing is written without --write; a device may take even the octets just read as a command. --timeout applies
        to each request; connecting may take 30 s, and pairing 60 s, or as long as --timeout says if that is longer.
        """

    /// How much was compared, and how much of it is not as declared.
    private struct Counts {
        var findings = 0
        var services = 0
        var characteristics = 0

        func failure(of device: Peripheral, _ remedy: String) -> BLEError {
            BLEError(
                .verificationFailed,
                operation: "verify",
                object: "\(device)",
                cause: "\(findings) \(findings == 1 ? "item is" : "items are") not as declared",
                remedy: remedy
            )
        }
    }

    private let peripheral: PeripheralName
    private let declaration: LocalPeripheral?
    private let isWriting: Bool
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(arguments.parameters(Self.parameters)[0])
        if let path = arguments.last("database") {
            let database = try ServedDatabase(path: path)
            declaration = LocalPeripheral(name: database.name ?? "") { database.services }
        } else {
            declaration = nil
        }
        isWriting = arguments.has("write")
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
        let answer = SecurityOptions.answers.first { arguments.has($0.name) }
        if let answer, security.level == nil {
            throw UsageError("--\(answer.name) is for --secure: verify pairs only with --secure")
        }
    }

    func run(in environment: CommandEnvironment) async throws {
        // A device that claims that nothing has changed isn't believed.
        let device = try environment.peripheral(peripheral)
        device.forgetServices()
        var counts = Counts()
        do {
            try await compare(device, &counts, in: environment)
        } catch is OutputClosed where counts.findings > 0 {
            // A reader that has enough changes nothing about the device.
            throw counts.failure(of: device, "Run the command again, and read all of its output: it lists each item.")
        }
        guard counts.findings > 0 else { return }
        throw counts.failure(
            of: device,
            "Change the device or its declaration; each item is listed in the output."
        )
    }

    /// Prints what is not as declared, and a summary.
    ///
    /// - Parameter counts: what has been found, even if it can't be printed.
    private func compare(
        _ device: Peripheral,
        _ counts: inout Counts,
        in environment: CommandEnvironment
    ) async throws {
        let connecting = Deadline(in: patience(of: .seconds(30)), isShared: false)
        try await environment.withLink(to: peripheral, connecting) { link in
            // A shell has made the link, and discovered the services, before.
            link.forgetServices()
            let database = try await environment.discover(link, nil)
            counts.services = database.services.count
            counts.characteristics = database.services.map(\.characteristics.count).reduce(0, +)
            // On the link as it is, whatever requires security must be refused.
            let first = try await findings(on: link)
            counts.findings = first.count
            for finding in first { try environment.output.print(finding.json, "\(finding)") }
            guard let level = security.level, first.last?.endsAll != true else { return }
            let former = device.bond
            defer { environment.tellOfBond(with: device, former, peripheral) }
            device.allowPairing(environment.answers(security, about: peripheral.text))
            try await link.secure(to: level, timeout: patience(of: .seconds(60)))
            let others = try await findings(on: link).filter { !first.contains($0) }
            counts.findings += others.count
            for finding in others { try environment.output.print(finding.json, "\(finding)") }
        }
        let summary = "\(counts.services) services, \(counts.characteristics) characteristics"
        try environment.output.print(
            .object(
                ("findings", .number(counts.findings)),
                ("services", .number(counts.services)),
                ("characteristics", .number(counts.characteristics))
            ),
            (counts.findings == 0 ? "as declared" : "\(counts.findings) not as declared") + ": \(summary)"
        )
    }

    /// How long a step may take that is more than a request; its error advises to allow more time.
    private func patience(of usual: Duration) -> Duration { max(usual, limit ?? usual) }

    private func findings(on link: Link) async throws -> [Link.VerificationFinding] {
        guard let declaration else { return try await link.verify(writing: isWriting, timeout: limit) }
        return try await link.verify(against: declaration, writing: isWriting, timeout: limit)
    }
}

extension Link.VerificationFinding {
    /// Whether nothing after it could be tested.
    fileprivate var endsAll: Bool { if case .failed = kind { true } else { false } }

    /// The finding as an object: where it is, what it is, and its text.
    fileprivate var json: JSON {
        var members: [(String, JSON)] = [("service", .string("\(service)"))]
        if let characteristic { members.append(("characteristic", .string("\(characteristic)"))) }
        if let descriptor { members.append(("descriptor", .string("\(descriptor)"))) }
        if let handle { members.append(("handle", .string(handle.handleText))) }
        members += kind.members
        members.append(("text", .string("\(kind)")))
        return .object(members)
    }
}

extension Link.VerificationFinding.Kind {
    fileprivate var members: [(String, JSON)] {
        switch self {
        case .missing: [("finding", .string("missing"))]
        case .missingInclude(let uuid): [("finding", .string("missingInclude")), ("included", .string("\(uuid)"))]
        case .undeclared: [("finding", .string("undeclared"))]
        case .otherProperties(let declared, let found):
            [("finding", .string("otherProperties")), ("declared", .names(of: declared)), ("found", .names(of: found))]
        case .otherValue(let declared, let found):
            [("finding", .string("otherValue")), ("declared", .hex(declared)), ("found", .hex(found))]
        case .refused(let operation, let error):
            [
                ("finding", .string("refused")), ("operation", .string(operation.rawValue)),
                ("attError", .number(Int(error.rawValue))),
            ]
        case .permitted(let operation):
            [("finding", .string("permitted")), ("operation", .string(operation.rawValue))]
        case .failed(let operation, let cause):
            [
                ("finding", .string("failed")), ("operation", .string(operation.rawValue)),
                ("cause", .string(cause)),
            ]
        }
    }
}
