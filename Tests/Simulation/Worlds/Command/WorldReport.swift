/// What a process that runs worlds tells the one that has started it, line by line.
enum WorldReport: Sendable {
    case begins(UInt64)
    case problem(UInt64, kind: String, text: String)
    /// A world is over, after so many seconds of virtual time, and has reached these features for the first time.
    case ends(UInt64, seconds: Int, features: [UInt64])
    /// So many octets are in use.
    case heap(Int)

    var line: String {
        switch self {
        case .begins(let seed): "begins \(seed)"
        case .problem(let seed, let kind, let text):
            "problem \(seed) \(kind) \(text.split(separator: "\n").joined(separator: " "))"
        case .ends(let seed, let seconds, let features):
            "ends \(seed) \(seconds)" + features.map { " " + String($0, radix: 36) }.joined()
        case .heap(let octets): "heap \(octets)"
        }
    }

    init?(_ line: Substring) {
        let words = line.split(separator: " ", maxSplits: 3)
        guard words.count > 1, let number = UInt64(words[1]) else { return nil }
        switch (words[0], words.count) {
        case ("begins", _): self = .begins(number)
        case ("heap", _): self = .heap(Int(number))
        case ("problem", 4): self = .problem(number, kind: String(words[2]), text: String(words[3]))
        case ("ends", 3...):
            let features = words.count > 3 ? words[3].split(separator: " ").compactMap { UInt64($0, radix: 36) } : []
            self = .ends(number, seconds: Int(words[2]) ?? 0, features: features)
        default: return nil
        }
    }
}

extension WorldOutcome {
    /// Its features as numbers that are the same in every process (FNV-1a).
    var featureNumbers: [UInt64] {
        features.map { $0.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
    }
}
