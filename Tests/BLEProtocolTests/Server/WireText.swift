import BLEProtocol

/// Octets as test vectors write them: hex digits, blanks allowed.
enum WireText {
    static func octets(_ text: String) -> [UInt8] {
        let digits = text.filter { $0 != " " }
        precondition(digits.count.isMultiple(of: 2), "an odd number of hex digits: \(text)")
        var octets: [UInt8] = []
        var rest = digits[...]
        while !rest.isEmpty {
            guard let octet = UInt8(rest.prefix(2), radix: 16) else { preconditionFailure("no hex: \(text)") }
            octets.append(octet)
            rest = rest.dropFirst(2)
        }
        return octets
    }

    static func text(_ octets: some Sequence<UInt8>) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
