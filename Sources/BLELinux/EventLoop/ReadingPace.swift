/// Whether a socket is read as soon as something comes, or every few milliseconds: a value, like all machines here.
///
/// To wake the loop, and the consumers behind it, costs several times what an advertisement or a notification costs.
/// Where many come, the kernel keeps those of some milliseconds, and one wake-up serves them all; a time that the
/// kernel hasn't noted is late by as much. Network drivers do the same; the kernel calls it NAPI
/// (Documentation/networking/napi.rst).
struct ReadingPace: Equatable {
    /// What to do after a reading.
    enum Step: Equatable {
        /// Wait until the socket is ready.
        case wait
        /// From now on, read it after ``interval``, however much comes until then.
        case pause
        /// It is paused already: read it once more after ``interval``.
        case lookAgain
        /// From now on, wait until it is ready again.
        case resume
    }

    /// For advertisements, which nobody awaits by the millisecond.
    static let ofAdvertisements = ReadingPace(
        every: .milliseconds(20),
        ifWithin: .milliseconds(20),
        worth: 1,
        plenty: .max
    )
    /// For the PDUs of a link: shorter than 7.5 ms, the shortest interval at which two devices meet (Core Specification
    /// 5.4, Vol 6, Part B, 4.5.1). A pause for a single PDU costs more than it saves, and one in which half a queue
    /// gathers could lose some.
    static let ofLinks = ReadingPace(every: .milliseconds(5), ifWithin: .milliseconds(2), worth: 2, plenty: 128)

    /// The readings, each soon after the one before, that show that much comes.
    static let evidence = 8
    /// How many of them are enough behind a pause that was worth it.
    static let renewal = 2
    /// For how long a socket is not paused again where a pause found ``plenty``: twice as long each time, until one was
    /// worth it.
    static let rests = (first: Duration.milliseconds(20), longest: Duration.seconds(1))

    /// How long what has come may wait.
    let interval: Duration
    /// What is read within this time after the reading before is soon after it.
    let proximity: Duration
    /// So many datagrams are worth another pause.
    let worth: Int
    /// As many datagrams in one reading come together already, faster than a pause should let them wait.
    let plenty: Int
    private(set) var isPaused = false
    private var last: Duration?
    private var successive = 0
    private var notBefore = Duration.zero
    private var rest = Self.rests.first
    /// Whether the pause was worth it so far.
    private var isProven = false

    init(every interval: Duration, ifWithin proximity: Duration, worth: Int, plenty: Int) {
        (self.interval, self.proximity, self.worth, self.plenty) = (interval, proximity, worth, plenty)
    }

    /// Takes a reading into account.
    ///
    /// - Parameters:
    ///   - count: how many datagrams it found.
    ///   - now: when it was. A clock that stands still shows no rate.
    ///   - mayPause: whether nobody waits for what comes next, as for an answer.
    mutating func read(_ count: Int, at now: Duration, mayPause: Bool) -> Step {
        if isPaused {
            if count >= worth, count < plenty, mayPause {
                (isProven, rest) = (true, Self.rests.first)
                return .lookAgain
            }
            let hasProved = isProven
            _ = hurry()
            if count >= plenty {
                notBefore = now + rest
                rest = min(rest * 2, Self.rests.longest)
            } else if hasProved, mayPause {
                // A sender that falters may go on at once.
                (successive, last) = (Self.evidence - Self.renewal, now)
            }
            return .resume
        }
        let isSoon = last.map { now > $0 && now - $0 < proximity } ?? false
        last = now
        successive = isSoon && count > 0 && count < plenty ? successive + 1 : 0
        guard successive >= Self.evidence, mayPause, now >= notBefore else { return .wait }
        (isPaused, isProven) = (true, false)
        return .pause
    }

    /// Somebody waits for what comes next.
    ///
    /// - Returns: whether the socket was paused.
    mutating func hurry() -> Bool {
        defer { (isPaused, successive, last) = (false, 0, nil) }
        return isPaused
    }

    /// The socket can't be waited for now: it is read after the next interval, as before.
    mutating func stayPaused() { isPaused = true }
}
