import BLEStreams

/// Runs a beacon.
struct Advertise: Command {
    static let name = "advertise"
    static let summary = "be a beacon: advertise without accepting connections"
    static let parameters: [String] = []
    static let options =
        [
            Option(
                "ibeacon",
                value: "UUID,MAJOR,MINOR",
                help: "an iBeacon; optionally after another comma its power at 1 m in dBm"
            ),
            Option("eddystone-url", value: "URL", help: "a web address"),
            Option("name", value: "NAME", help: "a name"),
        ] + Option.advertised + [
            Option("resume", help: "continue when the adapter is back, instead of ending with an error")
        ]
    static let notes = """
        It runs until Ctrl-C, or until its adapter is switched off, which is an error; with --resume it waits until the
        adapter is on again. It requires the capability CAP_NET_ADMIN. Fields that don't fit into 31 octets are sent in
        the scan response, another 31; if they still don't fit, an adapter with Bluetooth 5 is needed, or the command
        fails and lists the octets of each field.

        With --bthome temperature=@FILE the value is the number in a file. The file is read once a second, and a new
        value is advertised immediately.

        To accept connections, use `ble serve`.
        """

    private let beacon: LocalPeripheral
    private let declared: DeclaredAdvertisement

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        declared = try DeclaredAdvertisement(arguments, beacons: try arguments.beacons(), isConnectable: false)
        guard !declared.isEmpty else {
            throw UsageError("there is nothing to advertise: pass --ibeacon, --eddystone-url, --bthome, --name or data")
        }
        var beacon = LocalPeripheral.beacon([])
        if arguments.has("resume") { beacon.resuming = .exponential() }
        self.beacon = beacon
    }

    func run(in environment: CommandEnvironment) async throws {
        let (diary, address) = (ServeDiary(environment.output), environment.central.adapter.address)
        let living = try LivingAdvertisement(declared)
        var beacon = beacon
        beacon.advertisement = living.request
        let (store, log) = (environment.store, environment.log)
        try await beacon.run(on: environment.adapter, store: store, warning: log.warn) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await state in server.states {
                        switch state {
                        case .starting: break
                        case .serving: try diary.advertises(living.data, address)
                        case .interrupted(let error): try diary.interrupted(error)
                        }
                    }
                }
                if declared.isChanging {
                    group.addTask { try await living.follow(server, diary, address) }
                }
                defer { group.cancelAll() }
                // Whatever ends first ends everything: the adapter has failed, or nobody reads the output any more.
                try await group.next()
            }
        }
    }
}
