import BLEStreams

/// The source of a value in a served database.
enum ValueSource: Hashable, Sendable {
    /// The same octets until a central writes others.
    case fixed([UInt8])
    /// A number, least significant octet first, that grows at an interval.
    case count(from: UInt64, step: UInt64, octets: Int, every: Duration)
    /// The current contents of a file.
    case file(String, every: Duration)
    /// The output of a command.
    case command([String], every: Duration)

    /// The longest value, in octets.
    static let limit = 512

    /// A one-octet number, from 0 on, that grows once a second.
    static let counter = ValueSource.count(from: 0, step: 1, octets: 1, every: .seconds(1))

    static func tooLong(_ count: Int) -> String { "it has \(count) octets; a value has no more than \(limit)" }

    /// How often it may change; `nil`: only by writing.
    var interval: Duration? {
        switch self {
        case .fixed: nil
        case .count(_, _, _, let every), .file(_, let every), .command(_, let every): every
        }
    }

    /// The value after this many intervals.
    ///
    /// - Throws: a `BLEError` if the file can't be read, the command fails, or the value is too long.
    func octets(step: UInt64) async throws -> [UInt8] {
        switch self {
        case .fixed(let octets): return octets
        case .count(let start, let size, let octets, _):
            let number = start &+ size &* step
            return (0..<octets).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
        case .file(let path, _):
            return try Self.checked(try readBeginning(path, Self.limit + 1, isOrdinary: true), "read", path)
        case .command(let words, _):
            return try Self.checked(
                try await ChildProcess.output(of: words, limit: Self.limit + 1, patience: .seconds(10)),
                "run",
                words[0]
            )
        }
    }

    private static func checked(_ octets: [UInt8], _ operation: String, _ object: String) throws -> [UInt8] {
        guard octets.count > limit else { return octets }
        throw BLEError(
            .overflow,
            operation: operation,
            object: object,
            cause: "it has more than \(limit) octets",
            remedy: "Shorten it."
        )
    }
}

// MARK: - In a file

extension ValueSource: Decodable {
    private static let kinds = ["hex", "text", "count", "file", "command"]

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.singleValueContainer(), let digits = try? container.decode(String.self) {
            guard let octets = [UInt8](hex: digits) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.hexForm)
            }
            self = .fixed(octets)
            return
        }
        let members = try Members(decoder, known: Self.kinds + ["step", "octets", "every"])
        let kinds = members.names.filter { Self.kinds.contains($0) }
        guard kinds.count == 1, let kind = kinds.first else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "a value has exactly one of \(Self.kinds.joined(separator: ", "))"
                )
            )
        }
        for name in members.names where name != kind && !(kind == "count" || (name == "every" && kind.isAsked)) {
            throw members.refusal(of: name, "it has no meaning with \(kind)")
        }
        let every = try Self.interval(members)
        switch kind {
        case "hex":
            guard let octets = [UInt8](hex: try members.required(kind)) else {
                throw members.refusal(of: kind, Self.hexForm)
            }
            self = .fixed(octets)
        case "text": self = .fixed(Array(try members.required(kind, as: String.self).utf8))
        case "file":
            let path: String = try members.required(kind)
            guard !path.isEmpty else { throw members.refusal(of: kind, "the name of the file is missing") }
            self = .file(path, every: every)
        case "command":
            let words: [String] = try members.required(kind)
            guard let program = words.first, !program.isEmpty, words.allSatisfy({ !$0.utf8.contains(0) }) else {
                throw members.refusal(of: kind, "write a command as words: [\"/usr/bin/printf\", \"ok\"]")
            }
            self = .command(words, every: every)
        default:
            self = .count(
                from: try members.number(kind, in: 0...UInt64.max) ?? 0,
                step: try members.number("step", in: 1...UInt64.max) ?? 1,
                octets: try members.number("octets", in: 1...8) ?? 1,
                every: every
            )
        }
    }

    private static let hexForm = "write octets as pairs of hex digits: 00ff"

    private static func interval(_ members: Members) throws -> Duration {
        let seconds = try members["every", as: Double.self] ?? 1
        guard (0.01...86_400).contains(seconds) else {
            throw members.refusal(of: "every", "an interval has 0.01 to 86400 seconds")
        }
        return .seconds(seconds)
    }
}

extension String {
    /// Whether this kind of value is fetched anew each time.
    fileprivate var isAsked: Bool { self == "file" || self == "command" }
}
