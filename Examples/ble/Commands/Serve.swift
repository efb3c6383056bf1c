import BLEStreams

/// Runs a peripheral.
struct Serve: Command {
    static let name = "serve"
    static let summary = "be a peripheral: advertise, and serve centrals that connect"
    static let parameters: [String] = []
    static let options =
        [
            Option("profile", value: "P", help: "what to serve: heart-rate (default), transfer or echo"),
            Option("database", value: "FILE", help: "serve the services of a file, as `ble info --json` prints it"),
            Option("name", value: "NAME", help: "the name to advertise"),
            Option("access", value: "LEVEL", help: "the required security: open, encrypted or authenticated"),
            Option(
                "passkey",
                value: "DIGITS",
                help: "the passkey that a central shows, if it is fixed",
                isSecret: true
            ),
            .outOfBand,
            Option("just-works", help: "pair without questions, even at a terminal"),
            PairingClaim.option,
            Option("no-pairing", help: "refuse every pairing"),
            Option("resume", help: "continue when the adapter is back, instead of ending with an error"),
        ] + Option.advertised
    static let notes = """
        It runs until Ctrl-C, which ends the advertising and drops all links, or until its adapter is switched off,
        which is an error; with --resume it waits until the adapter is on again and continues. It prints which centrals
        connect, read, write and subscribe. Advertising requires the capability CAP_NET_ADMIN. Each adapter serves one
        peripheral at a time.

        When a central pairs, the command asks at a terminal: type the passkey that the central shows, type this one
        there, or compare two numbers. Elsewhere it asks nothing: with --access authenticated, pass --passkey or --oob,
        or only centrals with an authenticated bond have access. Bonds are stored; `ble bonds` lists them.

        It advertises its name and its services, for a file those that fit; --service replaces them, and the other
        options add to them, as in `ble advertise`. Fields that don't fit into 31 octets are sent in the scan response,
        another 31. With --bthome temperature=@FILE the value is the number in a file. The file is read once a second,
        and a new value is advertised immediately, even while centrals are connected.

        If bluetoothd runs on the same adapter, a connection goes to whichever of the two began to listen last. When
        bluetoothd starts later, this command listens again, at the latest when bluetoothd was given a central. Then it
        reports that central, which must connect again.

        profiles
          heart-rate  measurements (2A37) once a second, and the sensor's place on the body (2A38)
          transfer    a message in chunks, ended by EOM, to each subscriber: the other end of `ble transfer`
          echo        a value of up to 512 octets to read and write; writes are notified to all subscribers

        To copy a device, run `ble info ADDRESS --json > FILE` and `ble serve --database FILE`: this copies its
        services, with the values that could be read, its name, and the security that its values require. You can edit
        the file, or write it by hand:

          {"services": [{"uuid": "181A", "characteristics": [{
            "uuid": "2A6E", "properties": ["read", "notify"], "access": "encrypted",
            "value": {"count": 2100, "step": 5, "octets": 2, "every": 1}}]}]}

        A "value" is "00ff", {"hex": "00ff"} or {"text": "words"}, which stays until it is written; {"count": N}, which
        grows; or {"file": "PATH"} or {"command": ["PROGRAM", "WORD"]}, which are read or run at each read. A value that
        can be notified or indicated is sent to subscribers when it is written, and when it has changed; "every" is the
        number of seconds between checks. A value that can be neither read nor written and has no "value" counts up from
        0. "name" and "appearance" are taken from service 1800 unless given; "advertising" is a list of UUIDs. Commands
        run with the rights of this one.
        """

    static let visitor: (any DemoVisitor)? = DemoGuest()

    private let contents: any ServedContents
    private let notices: [String]
    private let peripheral: LocalPeripheral
    private let declared: DeclaredAdvertisement
    /// What to tell somebody whose authenticated values nobody can come to use.
    private let unanswered: String?

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        let access = try Self.access(arguments)
        let served: any ServedContents
        var name = arguments.last("name")
        var advertised: [BluetoothUUID]?
        if let path = arguments.last("database") {
            guard !arguments.has("profile") else { throw UsageError("--profile and --database exclude each other") }
            let database = try ServedDatabase(path: path, access: access)
            name = name ?? database.name ?? "ble copy"
            advertised = database.advertised
            notices = database.notices
            served = database
        } else {
            let profile = try Self.profile(arguments)
            name = name ?? "ble \(profile.title)"
            notices = []
            served = profile
        }
        guard let name, !name.isEmpty, name.utf8.count <= 248 else {
            throw UsageError("--name '\(name ?? "")': a name has 1 to 248 octets")
        }
        contents = served
        let (answers, asksSomebody) = try Self.answers(arguments)
        let services = served is ServedDatabase ? served.services : served.services.map { $0.asking(for: access) }
        let isUnanswered = !asksSomebody && services.contains { $0.needsAuthentication }
        unanswered = isUnanswered ? Self.wayToAuthenticate(arguments) : nil
        var peripheral = LocalPeripheral(
            name: name,
            appearance: try arguments.appearance() ?? served.appearance,
            pairing: answers
        ) { services }
        declared = try DeclaredAdvertisement(
            arguments,
            services: advertised ?? services.filter(\.isPrimary).map(\.uuid),
            name: name,
            isConnectable: true
        )
        if arguments.has("resume") { peripheral.resuming = .exponential() }
        self.peripheral = peripheral
    }

    private static func profile(_ arguments: Arguments) throws(UsageError) -> any ServedProfile {
        let wanted = arguments.last("profile") ?? HeartRateProfile.name
        guard let profile = servedProfiles.first(where: { $0.name == wanted }) else {
            let names = servedProfiles.map { $0.name }.joined(separator: ", ")
            throw UsageError("--profile '\(wanted)': the profiles are \(names)")
        }
        return profile.init()
    }

    private static func access(_ arguments: Arguments) throws(UsageError) -> AccessRequirement {
        let level = arguments.last("access") ?? "open"
        guard let access = AccessRequirement(level: level) else {
            let levels = AccessRequirement.levels.joined(separator: ", ")
            throw UsageError("--access '\(level)': the levels are \(levels)")
        }
        return access
    }

    /// Who answers a central's questions, `nil` if pairing is refused; and whether anybody answers.
    private static func answers(_ arguments: Arguments) throws(UsageError) -> (PairingAnswers?, asksSomebody: Bool) {
        let given = ["passkey", "oob", "just-works", "no-pairing"].filter { arguments.has($0) }
        guard given.count < 2 else { throw UsageError("--\(given[0]) and --\(given[1]) exclude each other") }
        let claim = try PairingClaim.made(in: arguments, excluding: given)
        switch given.first {
        case "no-pairing": return (nil, false)
        case "just-works": return (PairingAnswers(), false)
        case "oob":
            guard let data = try arguments.outOfBandData() else { return (nil, false) }
            guard data.address != nil else {
                throw UsageError("--oob: it must contain the central's address, the AD type 0x1B")
            }
            return (.outOfBand(data), true)
        case "passkey":
            // The error doesn't repeat it.
            guard let passkey = arguments.last("passkey").flatMap({ UInt32(passkey: $0) }) else {
                throw UsageError("--passkey: a passkey has six digits")
            }
            return (.passkey(passkey), true)
        default:
            guard let terminal = Terminal.standard else { return (PairingAnswers(), false) }
            return (terminal.pairingAnswers(about: "the central", claiming: claim), true)
        }
    }

    /// What keeps pairings from being authenticated, and what to do: an option that was given excludes the others.
    private static func wayToAuthenticate(_ arguments: Arguments) -> String {
        if arguments.has("no-pairing") {
            return "every pairing is refused, so only centrals with an authenticated bond can use authenticated "
                + "values: omit --no-pairing to let others pair"
        }
        let instead = arguments.has("just-works") ? "instead of --just-works, " : ""
        return "no pairing can be authenticated here, so centrals can't use authenticated values: "
            + "\(instead)run it at a terminal, or with --passkey"
    }

    /// The peripheral, and what it advertises; reads the files for the first time.
    ///
    /// - Throws: a `BLEError` if one of the files can't be read, or contains no value.
    func begin() throws -> (LocalPeripheral, LivingAdvertisement) {
        let living = try LivingAdvertisement(declared)
        var peripheral = peripheral
        peripheral.advertisement = living.request
        return (peripheral, living)
    }

    func run(in environment: CommandEnvironment) async throws {
        let adapter = environment.central.adapter
        for notice in notices { environment.log.say(notice) }
        if let unanswered { environment.log.say(unanswered) }
        let (peripheral, living) = try begin()
        let (store, log) = (environment.store, environment.log)
        try await peripheral.run(on: environment.adapter, store: store, warning: log.warn) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let diary = ServeDiary(environment.output)
                let (contents, name) = (contents, peripheral.name)
                // In front of what its centrals do, who may be here already.
                try diary.began(adapter, name, contents.title, living.data)
                group.addTask {
                    for try await event in server.centralEvents { try diary.note(event) }
                }
                group.addTask {
                    try await contents.live(server, diary)
                }
                group.addTask {
                    var wasInterrupted = false
                    for try await state in server.states {
                        switch state {
                        case .starting: break
                        case .serving:
                            if wasInterrupted { try diary.began(adapter, name, contents.title, living.data) }
                            wasInterrupted = false
                        case .interrupted(let error):
                            wasInterrupted = true
                            try diary.interrupted(error)
                        }
                    }
                }
                if declared.isChanging {
                    group.addTask { try await living.follow(server, diary, adapter.address) }
                }
                defer { group.cancelAll() }
                // Whatever ends first ends everything: the adapter has failed, or nobody reads the output any more.
                try await group.next()
            }
        }
    }
}
