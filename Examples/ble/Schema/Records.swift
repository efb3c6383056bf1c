import BLEStreams

// What each subcommand prints with `--json`.

extension Scan {
    static let records = [
        Record(
            "a device, or with --duplicates an advertisement",
            Field.peer + [
                .maybe("rssi", .integer), .maybe("name", .string), .always("services", .list(.string)),
                .always("manufacturerData", .list(.object([.always("company", .integer), .always("data", .hex)]))),
                .always("serviceData", .list(.object([.always("uuid", .string), .always("data", .hex)]))),
                .maybe("txPower", .integer), .maybe("appearance", .integer), .always("connectable", .bool),
                .maybe("adapter", .string), .always("time", .time),
            ] + Field.beacons
        ),
        Record.count,
    ]
}

extension Field {
    /// The beacon formats of an advertisement.
    fileprivate static let beacons: [Field] = [
        .maybe("iBeacon", .any), .maybe("eddystone", .any), .maybe("bthome", .list(.any)),
    ]

    /// The result of reading an attribute.
    fileprivate static let reading: [Field] = [
        .maybe("value", .hex), .maybe("text", .string), .maybe("error", .string), .maybe("attError", .integer),
        .maybe("access", .string),
    ]

    fileprivate static let attribute: [Field] = [
        .always("handle", .handle), .always("uuid", .string), .maybe("name", .string),
    ]
}

extension Info {
    static let records = [
        Record(
            "a device, whole",
            Field.peer + [
                .always("mtu", .integer), .maybe("rssi", .integer), .always("encrypted", .bool),
                .always("authenticated", .bool), .always("link", .object(Field.conditions)),
                .always("services", .list(.object(service))),
            ]
        )
    ]

    private static let service: [Field] =
        Field.attribute + [
            .always("primary", .bool),
            .always("includes", .list(.object([.always("handle", .handle), .always("uuid", .string)]))),
            .always("characteristics", .list(.object(characteristic))),
        ]

    private static let characteristic: [Field] =
        Field.attribute + [.always("properties", .list(.string))] + Field.reading + [
            .maybe("number", .number), .maybe("decoded", .any), .always("descriptors", .list(.object(descriptor))),
        ]

    private static let descriptor: [Field] = Field.attribute + Field.reading + [.maybe("meaning", .string)]
}

extension LinkCommand {
    static let records = [
        Record(
            "the conditions of a link",
            Field.conditions + [
                .maybe("rssi", .integer), .maybe("corrections", .integer), .maybe("insists", .bool),
                .always("time", .time),
            ]
        ),
        Record.count,
    ]
}

extension Read {
    static let records = [Record.value]
}

extension Write {
    static let records = [Record("how many octets were written", [.always("written", .integer)])]
}

extension Notify {
    static let records = [
        Record("a value; of which device, where there are several", [.maybe("address", .address)] + Record.valueFields),
        Record(
            "values are missing here; the time in seconds",
            [
                .maybe("address", .address),
                .always(
                    "gap",
                    .object([
                        .always("duration", .number), .always("dropped", .integer), .maybe("reason", .named("error")),
                    ])
                ),
                .always("time", .time),
            ]
        ),
        Record.count,
    ]
}

extension Transfer {
    static let records = [
        Record.value,
        Record(
            "a message that was put into a file",
            [.always("output", .string), .always("size", .integer), .always("time", .time)]
        ),
        Record.count,
    ]
}

extension Update {
    static let records = [
        Record(
            "how far an update is; the rate in octets a second, the time left in seconds",
            [
                .always("phase", .string), .maybe("percent", .integer), .maybe("completed", .integer),
                .maybe("total", .integer), .maybe("rate", .number), .maybe("timeLeft", .number), .always("time", .time),
            ]
        )
    ]
}

extension Serve {
    static let records = ServeDiary.records
}

extension Advertise {
    static let records = ServeDiary.records
}

extension ServeDiary {
    fileprivate static let records = [
        Record(
            "what happened, at the peripheral or to it",
            [
                .always("event", .string), .maybe("address", .address), .maybe("addressType", .addressType),
                .maybe("name", .string), .maybe("profile", .string), .maybe("fields", .list(.any)),
                .maybe("beacons", .object(Field.beacons)), .maybe("identity", .string), .maybe("bonded", .bool),
                .maybe("authenticated", .bool), .maybe("reason", .string), .maybe("cause", .string),
                .maybe("remedy", .string), .maybe("characteristic", .string), .maybe("kind", .string),
                .maybe("value", .hex), .maybe("text", .string), .maybe("error", .named("error")),
                .always("time", .time),
            ]
        )
    ]
}

extension Verify {
    static let records = [
        Record(
            "what is not as declared",
            [
                .always("service", .string), .maybe("characteristic", .string), .maybe("descriptor", .string),
                .maybe("handle", .handle), .always("finding", .string), .maybe("included", .string),
                .maybe("declared", .any), .maybe("found", .any), .maybe("operation", .string),
                .maybe("attError", .integer), .maybe("cause", .string), .always("text", .string),
            ]
        ),
        Record(
            "the end",
            [.always("findings", .integer), .always("services", .integer), .always("characteristics", .integer)]
        ),
    ]
}

extension Pair {
    static let records = [
        Record(
            "a device that is paired",
            Field.peer + [
                .maybe("identity", .string), .always("bonded", .bool), .always("encrypted", .bool),
                .always("authenticated", .bool), .always("wasPaired", .bool), .maybe("hex", .hex),
            ]
        )
    ]
}

extension Unpair {
    static let records = [Record("a bond that was removed", [.always("address", .address), .always("bonded", .bool)])]
}

extension Bonds {
    static let records = [
        Record("a bond", Field.peer + [.always("adapter", .string), .always("authenticated", .bool)])
    ]
}

extension OutOfBand {
    static let records = [Record("out-of-band data", [.maybe("address", .address), .always("oob", .hex)])]
}

extension Proxy {
    static let records = [
        Record(
            "where it listens, and its name",
            [.always("event", .words(["listening"])), .always("endpoint", .string), .always("name", .string)]
        ),
        Record("a new key, in Base64", [.always("key", .string)]),
    ]
}

extension AdapterCommand {
    static let records = [
        Record("an adapter", adapter),
        Record(
            "the PHYs of an adapter",
            [
                .always("adapter", .string), .always("supported", .object(phys)),
                .always("configurable", .object(phys)), .always("selected", .object(phys)),
            ]
        ),
        Record("whether an adapter is private", [.always("adapter", .string), .always("private", .bool)]),
    ]

    fileprivate static let adapter: [Field] = [
        .always("adapter", .string), .maybe("address", .address), .always("state", .string),
    ]

    private static let phys: [Field] = [.always("sending", .list(.string)), .always("receiving", .list(.string))]
}

extension Doctor {
    static let records = [
        Record(
            "the machine",
            [.always("system", .string), .always("adapters", .list(.object(AdapterCommand.adapter)))]
        ),
        Record(
            "a finding",
            [
                .always("finding", .words(Diagnosis.Kind.allCases.map(\.rawValue))),
                .always("severity", .words(Diagnosis.Severity.allCases.map { "\($0)" })), .maybe("object", .string),
                .always("cause", .string), .always("remedy", .string),
            ]
        ),
        Record(
            "the end",
            [.always("findings", .integer), .always("obstacles", .integer), .always("usable", .bool)]
        ),
    ]
}
