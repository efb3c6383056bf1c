/// The shortest of the failed runs; see ``VirtualTime/explore(seeds:order:limit:_:)``.
public struct ExplorationError: Error, Sendable {
    /// The seed that reproduces it.
    public let seed: UInt64

    /// The index of the fault that was swept, from 0; `nil` if there was none.
    public let fault: Int?

    /// How many occasions the fault skipped before it struck; `nil` if it did not strike.
    ///
    /// The fault that struck is `fault.times(1).skipping(step)`.
    public let step: Int?

    /// How much virtual time had passed.
    public let elapsed: Duration

    /// The error that the body threw.
    public let underlying: any Error

    /// The number of runs that failed.
    public internal(set) var failures = 1

    /// The number of runs.
    public internal(set) var runs = 1
}

extension ExplorationError: CustomStringConvertible {
    /// The number of failed runs, and the seed, fault and error of the shortest one.
    public var description: String {
        let place = fault.map { ", fault \($0)" + (step.map { " at step \($0)" } ?? "") } ?? ""
        return "\(failures) of \(runs) runs failed; the shortest one, with seed \(seed)\(place), "
            + "after \(elapsed): \(underlying)"
    }
}
