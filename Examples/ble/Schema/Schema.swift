/// The JSON Schema of the output of `--json`: for each subcommand, the objects that it prints, one per line.
enum Schema {
    /// The whole document (JSON Schema 2020-12): `$defs` has an entry for each subcommand, and `error` for standard
    /// error.
    static var document: JSON {
        let shared = shared.map { ($0.0, $0.1.schema) }
        let printing = commands.filter { !$0.records.isEmpty }.map { command in
            (command.name, JSON.object(("oneOf", .array(command.records.map(\.schema)))))
        }
        return .object(
            ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
            ("title", .string("ble --json")),
            (
                "description",
                .string(
                    "Each line that `ble COMMAND --json` prints to standard output is an object of $defs/COMMAND; a "
                        + "line of standard error that begins with { is one of $defs/failure."
                )
            ),
            ("$defs", .object(printing + shared))
        )
    }

    /// What several subcommands print.
    private static let shared: [(String, Shape)] = [
        ("failure", .object([.always("error", .named("error"))])),
        (
            "error",
            .object([
                .always("code", .string), .always("operation", .string), .maybe("object", .string),
                .always("cause", .string), .maybe("remedy", .string), .maybe("attError", .integer),
                .maybe("reason", .string), .maybe("pairingFailure", .string), .maybe("errno", .integer),
                .maybe("elapsed", .number), .maybe("received", .hex),
            ])
        ),
    ]
}

extension Record {
    fileprivate var schema: JSON {
        guard case .object(let members) = Shape.object(fields).schema else { return .null }
        return .object([("description", .string(summary))] + members)
    }
}

extension Shape {
    fileprivate var schema: JSON {
        switch self {
        case .string: Self.type("string")
        case .hex: Self.pattern("^([0-9a-f]{2})*$")
        case .time: Self.pattern("^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z$")
        case .address: Self.pattern("^([0-9A-F]{2}:){5}[0-9A-F]{2}$")
        case .addressType: Self.words(["public", "random"]).schema
        case .handle: Self.pattern("^0x[0-9a-f]{4}$")
        case .integer: Self.type("integer")
        case .number: Self.type("number")
        case .bool: Self.type("boolean")
        case .any: .object([])
        case .words(let words): .object(("enum", .array(words.map { .string($0) })))
        case .list(let shape): .object(("type", .string("array")), ("items", shape.schema))
        case .object(let fields):
            .object(
                ("type", .string("object")),
                ("properties", .object(fields.map { ($0.name, $0.shape.schema) })),
                ("required", .array(fields.filter { !$0.isOptional }.map { .string($0.name) })),
                ("additionalProperties", .bool(false))
            )
        case .named(let name): .object(("$ref", .string("#/$defs/\(name)")))
        }
    }

    private static func type(_ name: String) -> JSON { .object(("type", .string(name))) }

    private static func pattern(_ pattern: String) -> JSON {
        .object(("type", .string("string")), ("pattern", .string(pattern)))
    }
}
