public import BLEProtocol

/// The source of time and randomness: real, or simulated.
///
/// All waiting in the library is scheduled here, never slept, so the same code runs in virtual time.
public protocol Timeline: Sendable {
    /// The time since some fixed moment; never goes back.
    var now: Duration { get }

    /// The time since 1970-01-01 00:00:00 UTC.
    var wallTime: ReceptionTime { get }

    /// The clock that code with `async` functions sleeps on.
    var clock: any Clock<Duration> { get }

    /// Runs a closure once, after a while, on a context of the timeline; the closure must not block.
    ///
    /// A zero or negative delay runs it as soon as possible, never inside this call.
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity

    /// 64 random bits; the same sequence for the same seed in a simulation.
    func randomBits() -> UInt64

    /// Announces work that the timeline can't see, such as reading a file: a simulated clock stands still until the
    /// activity is cancelled. A real timeline does nothing by default.
    func hold() -> RadioActivity
}

extension Timeline {
    /// Does nothing: real time doesn't stand still.
    public func hold() -> RadioActivity { RadioActivity {} }
}
