import BLEStreams

/// Is a beacon.
struct Advertise: Command {
    static let name = "advertise"
    static let summary = "be a beacon: tell something to all who listen, and let nobody connect"
    static let parameters: [String] = []
    static let options = [
        Option(
            "ibeacon",
            value: "UUID,MAJOR,MINOR",
            help: "an iBeacon, and behind another comma its power at 1 m in dBm"
        ),
        Option("eddystone-url", value: "URL", help: "a web address"),
        Option("bthome", value: "WHAT=VALUE", help: "a value, as sensors tell them: temperature=21.5; may be repeated"),
        Option("name", value: "NAME", help: "a name"),
        Option("service", value: "UUID", help: "a service; may be repeated"),
        Option("service-data", value: "UUID=HEX", help: "data of a service; may be repeated"),
        Option("manufacturer-data", value: "COMPANY=HEX", help: "data of a company, its number in hex: 004C=0215"),
        Option("tx-power", value: "DBM", help: "the power that it is sent with"),
        Option("interval", value: "MS", help: "how often, in ms from 20 to 10240: 100 or 100..150"),
        Option("resume", help: "go on when the adapter is back, in place of ending with an error"),
    ]
    static let notes = """
        It goes on until Ctrl-C, or until its adapter is switched off, which is an error; with --resume it waits until the
        adapter is on again. It needs the capability CAP_NET_ADMIN. What has no room in 31 octets comes with the scan response,
        another 31; more is for adapters with Bluetooth 5, or is refused, with the octets of each field.

        For something to connect to there is `ble serve`.
        """

    private let beacon: LocalPeripheral
    private let data: AdvertisingData

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        let fields = try arguments.advertisedFields()
        guard !fields.isEmpty else {
            throw UsageError("nothing is to be advertised: say --ibeacon, --eddystone-url, --bthome, --name or data")
        }
        var beacon = LocalPeripheral.beacon(fields, interval: try arguments.advertisingInterval("interval"))
        if arguments.has("resume") { beacon.resuming = .exponential() }
        self.beacon = beacon
        // What has no room at all is refused when it is to go on air, with the octets of each field.
        data = (try? AdvertisingData(fields, limit: .max)) ?? AdvertisingData(bytes: [])
    }

    func run(in environment: CommandEnvironment) async throws {
        let (output, address) = (environment.output, environment.central.adapter.address)
        try await beacon.run(on: environment.adapter) { server in
            for try await state in server.states {
                let time = RealTimeline().wallTime
                switch state {
                case .starting: break
                case .serving:
                    try output.print(
                        .object(
                            ("event", .string("advertising")),
                            ("address", address.map { .string("\($0)") }),
                            ("time", .string(time.isoText)),
                            ("fields", .array(data.fields)),
                            ("beacons", .object(data.beacons))
                        ),
                        (["\(time.clockText)  advertising"] + data.beaconTexts).joined(separator: "  ")
                    )
                case .interrupted(let error):
                    try output.print(
                        .object(
                            ("event", .string("interrupted")),
                            ("cause", .string(error.cause)),
                            ("time", .string(time.isoText))
                        ),
                        "\(time.clockText)  interrupted \(error.cause)"
                    )
                }
            }
        }
    }
}

extension Arguments {
    /// What the options say is to be advertised; what several of them ask for, the flags, is there once.
    fileprivate func advertisedFields() throws(UsageError) -> [AdvertisingField] {
        var fields: [AdvertisingField] = []
        if let text = last("ibeacon") { fields += try Self.iBeacon(text).fields }
        if let url = last("eddystone-url") {
            fields += try Self.checked("eddystone-url") { try Eddystone.url(url, power: 0).fields }
        }
        let values = try all("bthome").map { text throws(UsageError) in try Self.measurement(text) }
        if !values.isEmpty { fields += BTHome(values).fields }
        let services = try uuids("service")
        if !services.isEmpty { fields.append(.services(services)) }
        for text in all("service-data") {
            let (name, octets) = try Self.data(text, of: "service-data", "180F=64")
            guard let uuid = BluetoothUUID(name) else {
                throw UsageError("--service-data '\(text)': \(UsageError.uuidForm)")
            }
            fields.append(.serviceData(uuid, octets))
        }
        for text in all("manufacturer-data") {
            let (name, octets) = try Self.data(text, of: "manufacturer-data", "FFFF=0102")
            guard let company = UInt16(name, radix: 16) else {
                throw UsageError("--manufacturer-data '\(text)': a company's number is four hex digits: 004C")
            }
            fields.append(.manufacturerData(company, octets))
        }
        if let text = last("tx-power") {
            guard let power = Int8(text) else { throw UsageError("--tx-power '\(text)': it is -127 to 127 dBm") }
            fields.append(.txPower(power))
        }
        if let name = last("name") { fields.append(.localName(name)) }
        var seen: Set<AdvertisingField> = []
        return fields.filter { seen.insert($0).inserted }
    }

    private static func iBeacon(_ text: String) throws(UsageError) -> IBeacon {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (3...4).contains(parts.count), let uuid = BluetoothUUID(parts[0]), let major = UInt16(parts[1]),
            let minor = UInt16(parts[2]), let power = parts.count == 4 ? Int8(parts[3]) : -59
        else {
            throw UsageError(
                "--ibeacon '\(text)': it is written like E2C56DB5-DFFB-48D2-B060-D0F5A71096E0,1,2 or with its power at 1 m: ,-59"
            )
        }
        return IBeacon(uuid: uuid, major: major, minor: minor, measuredPower: power)
    }

    private static func measurement(_ text: String) throws(UsageError) -> BTHome.Measurement {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let value = Double(parts[1]) else {
            throw UsageError("--bthome '\(text)': it is written like temperature=21.5")
        }
        guard let object = BTHome.Object(name: parts[0]) else {
            let names = BTHome.Object.all.compactMap(\.name).joined(separator: ", ")
            throw UsageError("--bthome '\(text)': what there is: \(names)")
        }
        return try checked("bthome") { try BTHome.Measurement(object, value) }
    }

    private static func data(
        _ text: String,
        of option: String,
        _ example: String
    ) throws(UsageError) -> (String, [UInt8]) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let octets = [UInt8](hex: parts[1]) else {
            throw UsageError("--\(option) '\(text)': it is written like \(example)")
        }
        return (parts[0], octets)
    }

    /// What the library refuses about an option, in its words.
    private static func checked<Value>(_ option: String, _ make: () throws -> Value) throws(UsageError) -> Value {
        do {
            return try make()
        } catch {
            guard let error = error as? BLEError else { throw UsageError("--\(option): \(error)") }
            throw UsageError("--\(option): \(error.object): \(error.cause). \(error.remedy)")
        }
    }

    /// A number of milliseconds, or two with `..` between them.
    fileprivate func advertisingInterval(_ name: String) throws(UsageError) -> ClosedRange<Duration>? {
        guard let text = last(name) else { return nil }
        let parts = text.firstRange(of: "..").map { [text[..<$0.lowerBound], text[$0.upperBound...]] } ?? [text[...]]
        let numbers = parts.compactMap { Double($0) }.filter { (20...10_240).contains($0) }
        guard numbers.count == parts.count, let shortest = numbers.first, let longest = numbers.last,
            shortest <= longest
        else { throw UsageError("--\(name) '\(text)': it is written like 100 or 100..150, in ms from 20 to 10240") }
        return .microseconds(shortest * 1000) ... .microseconds(longest * 1000)
    }
}
