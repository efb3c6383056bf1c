import BLEStreams

/// Is a beacon.
struct Advertise: Command {
    static let name = "advertise"
    static let summary = "be a beacon: tell something to all who listen, and let nobody connect"
    static let parameters: [String] = []
    static let options =
        [
            Option(
                "ibeacon",
                value: "UUID,MAJOR,MINOR",
                help: "an iBeacon, and behind another comma its power at 1 m in dBm"
            ),
            Option("eddystone-url", value: "URL", help: "a web address"),
            Option("name", value: "NAME", help: "a name"),
        ] + Option.advertised + [
            Option("resume", help: "go on when the adapter is back, in place of ending with an error")
        ]
    static let notes = """
        It goes on until Ctrl-C, or until its adapter is switched off, which is an error; with --resume it waits until the
        adapter is on again. It needs the capability CAP_NET_ADMIN. What has no room in 31 octets comes with the scan response,
        another 31; more is for adapters with Bluetooth 5, or is refused, with the octets of each field.

        With --bthome temperature=@FILE the value is the number in a file. The file is looked at once a second, and another
        value is advertised at once.

        For something to connect to there is `ble serve`.
        """

    private let beacon: LocalPeripheral
    private let declared: DeclaredAdvertisement

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        declared = try DeclaredAdvertisement(arguments, beacons: try arguments.beacons(), isConnectable: false)
        guard !declared.isEmpty else {
            throw UsageError("nothing is to be advertised: say --ibeacon, --eddystone-url, --bthome, --name or data")
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
        try await beacon.run(on: environment.adapter) { server in
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
                // Whatever ends first ends all: the adapter has failed, or nobody reads the diary any more.
                try await group.next()
            }
        }
    }
}
