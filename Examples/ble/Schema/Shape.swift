/// The shape of a JSON value, for the schema and its test.
indirect enum Shape: Sendable {
    case string
    /// Octets in lower-case hexadecimal.
    case hex
    /// A point in time: `2026-11-20T13:00:37.536379Z`.
    case time
    /// An address: `C4:F2:17:1A:1D:BB`.
    case address
    /// `public` or `random`.
    case addressType
    /// A handle: `0x0012`.
    case handle
    case integer
    case number
    case bool
    /// Anything: what a codec decodes from a value.
    case any
    case words([String])
    case list(Shape)
    case object([Field])
    /// A shape that is described only once: `error`.
    case named(String)
}

/// A member of an object.
struct Field: Sendable {
    let name: String
    let shape: Shape
    let isOptional: Bool

    /// A required member.
    static func always(_ name: String, _ shape: Shape) -> Field { Field(name: name, shape: shape, isOptional: false) }

    /// A member that is left out if there is nothing to say.
    static func maybe(_ name: String, _ shape: Shape) -> Field { Field(name: name, shape: shape, isOptional: true) }
}

/// An object that a subcommand prints on a line of its own.
struct Record: Sendable {
    /// What it describes, in a few words.
    let summary: String
    let fields: [Field]

    init(_ summary: String, _ fields: [Field]) { (self.summary, self.fields) = (summary, fields) }
}

extension Record {
    /// The number of values, at the end of a stream.
    static let count = Record(
        "the end of a stream: how many values there were, and how many were lost on this machine",
        [.always("received", .integer), .always("dropped", .integer)]
    )

    /// A value that was read or received.
    static let value = Record("a value", valueFields)

    static let valueFields: [Field] = [
        .always("value", .hex), .maybe("text", .string), .always("time", .time), .maybe("decoded", .any),
    ]
}

extension Field {
    static let peer: [Field] = [.always("address", .address), .always("addressType", .addressType)]

    /// What is known about a link's conditions; durations in seconds.
    static let conditions: [Field] = [
        .maybe("interval", .number), .maybe("latency", .integer), .maybe("supervisionTimeout", .number),
        .maybe("sendingPHY", .string), .maybe("receivingPHY", .string), .maybe("sendingDataLength", .integer),
        .maybe("receivingDataLength", .integer), .maybe("sendingPower", .integer),
    ]
}
