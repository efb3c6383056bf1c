import BLEStreams

extension Arguments {
    /// The words, if there are as many as the command has parameters.
    func parameters(_ names: [String]) throws(UsageError) -> [String] {
        if words.count < names.count {
            throw UsageError("\(names[words.count]) is missing")
        }
        if words.count > names.count {
            throw UsageError(
                "'\(words[names.count])' is an extra argument",
                discreetly: "there is an extra argument, which is not shown, as it may be a part of a secret: "
                    + "put a value that contains spaces in quotation marks"
            )
        }
        return words
    }

    /// Refuses what can only be done with an open adapter, for a command that opens none.
    func refuseAdapterUse(by command: String) throws(UsageError) {
        for option in ["capture", "recover"] where has(option) {
            throw UsageError("--\(option) has no meaning for \(command), which opens no adapter")
        }
    }

    /// Refuses `--json`, for a command whose result is a text for another program or for a person.
    func refuseJSON(of command: String) throws(UsageError) {
        guard !has("json") else {
            throw UsageError("--json has no meaning for \(command), which prints no objects: omit it")
        }
    }

    /// A duration in seconds, with or without a fraction.
    func seconds(_ name: String) throws(UsageError) -> Duration? {
        guard let text = last(name) else { return nil }
        // Less than an attosecond is no time.
        guard let seconds = Double(text), seconds > 0, seconds <= 1e9, Duration.seconds(seconds) > .zero else {
            throw UsageError("--\(name) '\(text)': write seconds like 10 or 0.5, more than 0 and up to 1000000000")
        }
        return .seconds(seconds)
    }

    /// A count, from 1 on.
    func count(_ name: String) throws(UsageError) -> Int? {
        guard let text = last(name) else { return nil }
        guard let count = Int(text), count > 0 else {
            throw UsageError("--\(name) '\(text)': that is not a number of 1 or more")
        }
        return count
    }

    /// Two signal strengths in dBm with `..` between them, one of which may be left out.
    func signalStrengths(_ name: String) throws(UsageError) -> ClosedRange<Int>? {
        guard let text = last(name) else { return nil }
        let refusal = UsageError("--\(name) '\(text)': write a range like -80..-40, -80.. or ..-40, in dBm")
        guard let dots = text.firstRange(of: "..") else { throw refusal }
        let (low, high) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !(low.isEmpty && high.isEmpty), let minimum = low.isEmpty ? -128 : Int(low),
            let maximum = high.isEmpty ? 127 : Int(high), minimum <= maximum
        else { throw refusal }
        return minimum...maximum
    }

    /// The parameters of a link, one set after the other, by the names of their purposes.
    func linkParameters(_ name: String) throws(UsageError) -> [ConnectionParameters] {
        var parameters: [ConnectionParameters] = []
        for text in all(name) {
            switch text {
            case "fast": parameters.append(.fast)
            case "balanced": parameters.append(.balanced)
            case "lowPower": parameters.append(.lowPower)
            default: throw UsageError("--\(name) '\(text)': it is fast, balanced or lowPower")
            }
        }
        return parameters
    }

    /// The connection intervals that a device may request: two numbers of milliseconds with `..` between them.
    func connectionLimits(_ name: String) throws(UsageError) -> ConnectionParameters.Limits? {
        guard let text = last(name) else { return nil }
        let refusal = UsageError("--\(name) '\(text)': write limits like 15..100, in ms from 7.5 to 4000")
        guard let dots = text.firstRange(of: ".."), let shortest = Double(text[..<dots.lowerBound]),
            let longest = Double(text[dots.upperBound...]), (7.5...4000).contains(shortest),
            (shortest...4000).contains(longest)
        else { throw refusal }
        do throws(BLEError) {
            return try ConnectionParameters.Limits(
                interval: .microseconds(shortest * 1000) ... .microseconds(longest * 1000)
            )
        } catch {
            throw refusal
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
    static let emptyNamePrefix = UsageError("--name-prefix '': a name prefix can't be empty")
    static let uuidForm = "write a UUID like 180D or 7A1C0001-5F2B-4C8E-9D3A-6B70E14F2C55"
}
