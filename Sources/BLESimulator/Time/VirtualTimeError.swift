/// Why a run in virtual time was given up.
public struct VirtualTimeError: Error, Sendable {
    /// The kind of stall.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// No job was runnable and no timer was left, but the body had not ended: it waited for something that could
        /// never happen.
        case stalled = "nothing is left that could ever wake the body"
        /// The virtual time limit of the run was reached: timers kept firing, and the body did not end.
        case limitReached = "the limit of virtual time was reached"
        /// Jobs kept running without time passing.
        case spinning = "jobs keep running and time never passes"
    }

    /// The kind of stall.
    public var kind: Kind

    /// The seed that reproduces it.
    public var seed: UInt64

    /// How much virtual time had passed.
    public var elapsed: Duration

    /// The error that the body threw after it was cancelled; `nil` if it returned.
    public var bodyError: (any Error)?
}

extension VirtualTimeError: CustomStringConvertible {
    /// One line: the kind, the time, the seed that reproduces it, and what to look for.
    public var description: String {
        let outcome = bodyError.map { "; once cancelled, the body threw: \($0)" } ?? ""
        return "virtual time: \(kind.rawValue), at \(elapsed), with seed \(seed)\(outcome). \(kind.remedy)"
    }
}

extension VirtualTimeError.Kind {
    /// What waits for a device would wait for ever if the task of that device has failed, and nobody has been told.
    private static let children =
        "Check whether a child task has failed: a group throws its error only when it is awaited, as by "
        + "`try await group.next()`"

    private static let realTime =
        "Wrap what comes in real time in `holding(_:)`, and pass the `timeline` to `interval` and `timer`"

    fileprivate var remedy: String {
        switch self {
        case .stalled: "\(Self.children). \(Self.realTime)."
        case .limitReached: "\(Self.children). \(Self.realTime). If the run is to last longer, raise its `limit`."
        case .spinning: "Look for a loop in which nothing takes time."
        }
    }
}
