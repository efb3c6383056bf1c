/// Why a run in virtual time was given up.
public struct VirtualTimeError: Error, Sendable {
    /// What was found.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Nothing was left to run and no timer to wait for, and the body had not ended: it waited for what could
        /// never come.
        case stalled = "nothing is left that could ever wake the body"
        /// The virtual time limit of the run was reached: something kept time going, and the body did not end.
        case limitReached = "the limit of virtual time was reached"
        /// Jobs ran on and on without time ever passing.
        case spinning = "jobs keep running and time never passes"
    }

    /// What was found.
    public var kind: Kind

    /// The seed that shows it again.
    public var seed: UInt64

    /// How much virtual time had passed.
    public var elapsed: Duration

    /// What the body threw after it had been cancelled; `nil` when it returned.
    public var bodyError: (any Error)?
}

extension VirtualTimeError: CustomStringConvertible {
    /// One line: what was found, when, and the seed that replays it.
    public var description: String {
        let outcome = bodyError.map { "; once cancelled, the body threw: \($0)" } ?? ""
        return "virtual time: \(kind.rawValue), at \(elapsed), with seed \(seed)\(outcome)."
    }
}
