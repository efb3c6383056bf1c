import Leases

extension LeaseMessage {
    /// A line of a trace, which `description` would make too long.
    var traced: String {
        switch self {
        case .record(let record):
            let after = record.after.map { "after \($0.traced)" } ?? "after nothing"
            let verb = record.isReleased ? "releases" : "claims"
            return "\(verb) epoch \(record.epoch.number) as \(record.mark.traced) \(after), \(record.strength) dBm"
        case .bid(let bid): return "asks gateway \(bid.epoch.gateway.rawValue - 1) for it, \(bid.strength) dBm"
        case .note(let epoch): return "reminds of epoch \(epoch.number) of gateway \(epoch.gateway.rawValue - 1)"
        }
    }
}

extension Mark {
    /// The beginning of the session, and the number.
    fileprivate var traced: String { "\(session.description.prefix(4))/\(sequence)" }
}
