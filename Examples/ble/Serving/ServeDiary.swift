import BLERadio
import BLEStreams
import ConsoleOutput

/// Reports what happens to `ble serve` and `ble advertise`, one line each.
struct ServeDiary: Sendable {
    private let output: Output
    private let timeline = RealTimeline()

    init(_ output: Output) { self.output = output }

    /// It advertises and listens.
    func began(_ adapter: AdapterInfo, _ name: String, _ profile: String, _ data: AdvertisingData) throws {
        let address = adapter.address
        try line(
            "serving",
            address.map { "as \($0) (\($0.kind))" } ?? "",
            (["\"\(name.harmless)\", profile \(profile)"] + data.beaconTexts).joined(separator: ", "),
            [
                ("address", address.map { .string("\($0)") }),
                ("addressType", address.map { .string($0.kind.rawValue) }),
                ("name", .string(name)), ("profile", .string(profile)),
            ] + members(data)
        )
    }

    /// What it advertises from now on.
    func advertises(_ data: AdvertisingData, _ address: BluetoothAddress?) throws {
        let text = data.beaconTexts.joined(separator: "  ")
        try line("advertising", "", text, [("address", address.map { .string("\($0)") })] + members(data))
    }

    private func members(_ data: AdvertisingData) -> [(String, JSON?)] {
        [("fields", .array(data.fields)), ("beacons", .object(data.beacons))]
    }

    /// It does neither for now.
    func interrupted(_ error: BLEError) throws {
        let remedy: JSON? = error.remedy.isEmpty ? nil : .string(error.remedyText)
        try line("interrupted", "", error.causeText, [("cause", .string(error.causeText)), ("remedy", remedy)])
    }

    /// A central has connected, paired or left.
    func note(_ event: PeripheralServer.CentralEvent) throws {
        switch event {
        case .connected(let central): try line("connected", "by \(central.address)", "", who(central))
        case .paired(let central, let bond): try note(pairingBy: central, bond)
        case .pairingFailed(let central, let error): try note(failureBy: central, error)
        case .disconnected(let central, let reason):
            try line(
                "disconnected",
                "from \(central.address):",
                "\(reason)",
                who(central) + [("reason", .string("\(reason)"))]
            )
        }
    }

    /// A central has paired, or tried to.
    private func note(pairingBy central: ConnectedCentral, _ bond: Bond?) throws {
        let isAuthenticated = bond?.isAuthenticated ?? central.security.isAuthenticated
        let identity = bond.map(\.peer).flatMap { $0 == central.address ? nil : $0 }
        let how = isAuthenticated ? "authenticated" : "not authenticated"
        try line(
            "paired",
            "with \(central.address):",
            "\(how), \(bond == nil ? "for this link only" : "bonded")",
            who(central) + [
                ("identity", identity.map { .string($0.descriptionWithKind) }),
                ("bonded", .bool(bond != nil)),
                ("authenticated", .bool(isAuthenticated)),
            ]
        )
    }

    private func note(failureBy central: ConnectedCentral, _ error: BLEError) throws {
        let reason = error.pairingFailure.map { "\($0)" }
        try line(
            "pairing failed",
            "with \(central.address):",
            error.cause,
            who(central) + [("reason", reason.map { .string($0) }), ("cause", .string(error.cause))]
        )
    }

    /// A central has subscribed or unsubscribed.
    func note(_ change: PeripheralServer.SubscriptionChange) throws {
        let kind =
            switch change.kind {
            case .none: "nothing"
            case .notify: "notifications"
            case .indicate: "indications"
            }
        try line(
            change.isSubscribed ? "subscribed" : "unsubscribed",
            "by \(change.central.address)",
            change.isSubscribed ? "\(change.characteristic): \(kind)" : change.characteristic,
            who(change.central) + [("characteristic", .string(change.characteristic)), ("kind", .string(kind))]
        )
    }

    /// A central has read a value.
    func read(_ value: [UInt8], _ request: PeripheralServer.ReadRequest) throws {
        try line("read", "by \(request.central.address)", request.characteristic, value, request.central)
    }

    /// A central has written a value.
    func written(_ value: [UInt8], _ request: PeripheralServer.WriteRequest) throws {
        try line("written", "by \(request.central.address)", request.characteristic, value, request.central)
    }

    /// There is no value to notify or to answer with.
    func unavailable(_ characteristic: String, _ error: BLEError) throws {
        try line(
            "unavailable",
            "",
            "\(characteristic): \(error.messageText)",
            [("characteristic", .string(characteristic)), ("error", error.json)]
        )
    }

    /// There is no value to advertise.
    func unavailable(_ error: BLEError) throws {
        try line("unavailable", "", error.messageText, [("error", error.json)])
    }

    private func line(
        _ event: String,
        _ who: String,
        _ characteristic: String,
        _ value: [UInt8],
        _ central: ConnectedCentral
    ) throws {
        try line(
            event,
            who,
            "\(characteristic): \(value.readableText)",
            self.who(central) + [
                ("characteristic", .string(characteristic)), ("value", .hex(value)), ("text", .string(value.utf8Text)),
            ]
        )
    }

    private func who(_ central: ConnectedCentral) -> [(String, JSON?)] {
        [("address", .string("\(central.address)")), ("addressType", .string(central.address.kind.rawValue))]
    }

    private func line(_ event: String, _ who: String, _ what: String, _ members: [(String, JSON?)]) throws {
        let time = timeline.wallTime
        let all = [("event", JSON.string(event))] + members + [("time", JSON.string(time.isoText))]
        let text = [time.clockText, " " + event, who, what].filter { !$0.isEmpty }.joined(separator: " ")
        try output.print(.object(all.compactMap { key, value in value.map { (key, $0) } }), text)
    }
}
