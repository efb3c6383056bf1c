import FoundationEssentials

/// A member that one object of a JSON text has twice: the one search for `ble`, and for `Examples/Gateway`. The decoder
/// takes one of the two, and says nothing of the other.
struct RepeatedMember {
    /// The name, as the second one is written.
    let name: String
    /// The line of the second one.
    let line: Int

    /// The first one in a text; `nil` if there is none.
    ///
    /// - Parameter octets: a text that the decoder accepts.
    static func first(in octets: [UInt8]) -> RepeatedMember? {
        // The names of each list and object that is open; a list has none. They are compared as the decoder does.
        var names: [Set<String>] = []
        var (start, string, isEscaped): (Int?, ArraySlice<UInt8>, Bool) = (nil, [], false)
        for (index, octet) in octets.enumerated() {
            if let first = start {
                switch octet {
                case _ where isEscaped: isEscaped = false
                case UInt8(ascii: "\\"): isEscaped = true
                case UInt8(ascii: "\""): (start, string) = (nil, octets[first..<index])
                default: break
                }
                continue
            }
            switch octet {
            case UInt8(ascii: "\""): start = index + 1
            case UInt8(ascii: "["), UInt8(ascii: "{"): names.append([])
            case UInt8(ascii: "]"), UInt8(ascii: "}"): _ = names.popLast()
            // Outside strings, it stands behind a name only.
            case UInt8(ascii: ":") where !names.isEmpty:
                guard !names[names.count - 1].insert(unescaped(string)).inserted else { continue }
                let line = octets[..<index].count { $0 == UInt8(ascii: "\n") } + 1
                return RepeatedMember(name: String(decoding: string, as: UTF8.self), line: line)
            default: break
            }
        }
        return nil
    }

    /// A string, as the decoder reads it: `\u0061` is `a`.
    private static func unescaped(_ string: ArraySlice<UInt8>) -> String {
        let written = String(decoding: string, as: UTF8.self)
        guard string.contains(UInt8(ascii: "\\")) else { return written }
        var literal = [UInt8(ascii: "\"")]
        literal += string
        literal.append(UInt8(ascii: "\""))
        return (try? JSONDecoder().decode(String.self, from: Data(literal))) ?? written
    }
}
