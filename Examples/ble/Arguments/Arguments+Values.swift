import BLEStreams

extension Arguments {
    /// The words, when there are as many as the command has parameters.
    func parameters(_ names: [String]) throws(UsageError) -> [String] {
        if words.count < names.count {
            throw UsageError("\(names[words.count]) is missing")
        }
        if words.count > names.count {
            throw UsageError("'\(words[names.count])' is one word too many")
        }
        return words
    }

    /// A length of time in seconds, with or without a fraction.
    func seconds(_ name: String) throws(UsageError) -> Duration? {
        guard let text = last(name) else { return nil }
        guard let seconds = Double(text), seconds > 0, seconds <= 1e9 else {
            throw UsageError("--\(name) '\(text)': seconds are written like 10 or 0.5, and are more than 0")
        }
        return .seconds(seconds)
    }

    /// A number of things, from 1 on.
    func count(_ name: String) throws(UsageError) -> Int? {
        guard let text = last(name) else { return nil }
        guard let count = Int(text), count > 0 else {
            throw UsageError("--\(name) '\(text)': that is no number from 1 on")
        }
        return count
    }

    /// Two signal strengths in dBm with `..` between them, of which one may be left out.
    func signalStrengths(_ name: String) throws(UsageError) -> ClosedRange<Int>? {
        guard let text = last(name) else { return nil }
        let refusal = UsageError("--\(name) '\(text)': a window is written like -80..-40, -80.. or ..-40, in dBm")
        guard let dots = text.firstRange(of: "..") else { throw refusal }
        let (low, high) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !(low.isEmpty && high.isEmpty), let minimum = low.isEmpty ? -128 : Int(low),
            let maximum = high.isEmpty ? 127 : Int(high), minimum <= maximum
        else { throw refusal }
        return minimum...maximum
    }

    /// What a link is to be like, by the name of the purpose.
    func linkParameters(_ name: String) throws(UsageError) -> ConnectionParameters? {
        switch last(name) {
        case nil: return nil
        case "fast": return .fast
        case "balanced": return .balanced
        case "lowPower": return .lowPower
        case let text?: throw UsageError("--\(name) '\(text)': it is fast, balanced or lowPower")
        }
    }

    /// UUIDs, each 4, 8 or 32 hex digits, the last with dashes.
    func uuids(_ name: String) throws(UsageError) -> [BluetoothUUID] {
        var uuids: [BluetoothUUID] = []
        for text in all(name) {
            guard let uuid = BluetoothUUID(text) else {
                throw UsageError("--\(name) '\(text)': \(UsageError.uuidForm)")
            }
            uuids.append(uuid)
        }
        return uuids
    }
}

extension UsageError {
    static let uuidForm = "a UUID is written like 180D or 7A1C0001-5F2B-4C8E-9D3A-6B70E14F2C55"
}
