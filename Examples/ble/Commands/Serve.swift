import BLEStreams

/// Is a peripheral.
struct Serve: Command {
    static let name = "serve"
    static let summary = "be a peripheral: advertise, and answer whoever connects"
    static let parameters: [String] = []
    static let options = [
        Option("profile", value: "P", help: "what to offer: heart-rate, transfer or echo; heart-rate unless given"),
        Option("name", value: "NAME", help: "the name to advertise"),
    ]
    static let notes = """
        It goes on until Ctrl-C, which ends the advertising and drops all links, or until its adapter is switched off, which is
        an error; until then it prints who connects, reads, writes and subscribes. Advertising needs the capability
        CAP_NET_ADMIN. On each adapter one peripheral is served at a time.

        Where bluetoothd runs on the same adapter too, a connection goes to whichever of the two has begun to listen last:
        start this command after bluetoothd, and again when bluetoothd has been restarted.

        profiles
          heart-rate  measurements (2A37) once a second, and where the sensor is worn (2A38)
          transfer    a message in chunks, closed by EOM, for each who subscribes: the other end of `ble transfer`
          echo        a value of up to 512 octets to read and to write; what is written is notified to all subscribers
        """

    static let visitor: (any DemoVisitor)? = DemoGuest()

    private let profile: any ServedProfile
    private let peripheral: LocalPeripheral

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        let wanted = arguments.last("profile") ?? HeartRateProfile.name
        guard let profile = servedProfiles.first(where: { $0.name == wanted }) else {
            let names = servedProfiles.map { $0.name }.joined(separator: ", ")
            throw UsageError("--profile '\(wanted)': the profiles are \(names)")
        }
        let name = arguments.last("name") ?? "ble \(wanted)"
        guard !name.isEmpty, name.utf8.count <= 248 else {
            throw UsageError("--name '\(name)': a name has 1 to 248 octets")
        }
        let served = profile.init()
        self.profile = served
        peripheral = LocalPeripheral(name: name, appearance: served.appearance) { served.services }
    }

    func run(in environment: CommandEnvironment) async throws {
        let adapter = environment.central.adapter
        try await peripheral.run(on: environment.adapter) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let diary = ServeDiary(environment.output)
                let (profile, mayBegin) = (profile, peripheral.name)
                group.addTask {
                    for try await event in server.centralEvents { try diary.note(event) }
                }
                group.addTask {
                    try await profile.live(server, diary)
                }
                try diary.began(adapter, mayBegin, type(of: profile).name)
                defer { group.cancelAll() }
                // Whatever ends first ends all: the adapter has failed, or nobody reads the diary any more.
                try await group.next()
            }
        }
    }
}
