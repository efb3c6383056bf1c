import BLEStreams

extension LinkConditions {
    /// What is known, except the signal strength, as the members of an object; durations in seconds.
    var json: [(String, JSON)] {
        var members: [(String, JSON)] = []
        func add(_ name: String, _ value: JSON?) { if let value { members.append((name, value)) } }
        add("interval", interval.map { .decimal($0.seconds) })
        add("latency", latency.map { .number($0) })
        add("supervisionTimeout", supervisionTimeout.map { .decimal($0.seconds) })
        add("sendingPHY", sendingPHY.map { .string($0.rawValue) })
        add("receivingPHY", receivingPHY.map { .string($0.rawValue) })
        add("sendingDataLength", sendingDataLength.map { .number($0) })
        add("receivingDataLength", receivingDataLength.map { .number($0) })
        add("sendingPower", sendingPower.map { .number($0) })
        return members
    }

    /// What is known, except the signal strength, in one line; `nil` if nothing is.
    var text: String? {
        var facts: [String] = []
        if let interval { facts.append("every \(interval.milliseconds) ms") }
        if let latency, latency > 0 { facts.append("may miss \(latency)") }
        if let supervisionTimeout { facts.append("lost after \(supervisionTimeout.milliseconds) ms") }
        if let sendingPHY, let receivingPHY {
            facts.append(
                sendingPHY == receivingPHY
                    ? "PHY \(sendingPHY.rawValue)"
                    : "PHY \(sendingPHY.rawValue) out, \(receivingPHY.rawValue) in"
            )
        }
        if let sendingDataLength, let receivingDataLength {
            facts.append("packets of \(sendingDataLength) out, \(receivingDataLength) in")
        }
        if let sendingPower { facts.append("sends with \(sendingPower) dBm") }
        return facts.isEmpty ? nil : facts.joined(separator: ", ")
    }
}

extension Duration {
    /// In milliseconds, without a fraction if it is whole: `7.5`, `30`.
    fileprivate var milliseconds: String {
        let value = self / .milliseconds(1)
        return value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
