import BLEProtocol
import BLERadio

/// How long a caller waits for a session: all its waits together.
struct SessionPatience: Sendable {
    /// What a caller still waits for when its time is over.
    struct Wait: Sendable {
        /// What did not happen, in words.
        var cause: String
        /// Why, as far as that is known.
        var why: String?
        /// What to do; `nil`: what helps in general.
        var remedy: String?
    }

    private let timeline: any Timeline
    private let object: String
    private let total: Duration?
    private let end: Duration

    /// - Parameters:
    ///   - total: how long; `nil`: without limit.
    ///   - end: until when; `nil`: that long from now on.
    init(_ total: Duration?, until end: Duration? = nil, _ session: Session) {
        timeline = session.core.timeline
        object = "with \(session)"
        self.total = total
        self.end = end ?? total.map { session.core.timeline.now + $0 } ?? .zero
    }

    /// What is left for one wait, and the error when it is used up; `nil` if there is no limit.
    ///
    /// - Parameter wait: what the caller is then waiting for.
    func rest(
        _ wait: @escaping @Sendable () -> Wait
    ) -> (duration: Duration, error: @Sendable () -> any Error)? {
        guard let total else { return nil }
        let error: @Sendable () -> any Error = { [object] in
            BLEError.timedOut("session", object: object, after: total, waitingFor: wait())
        }
        return (max(.zero, end - timeline.now), error)
    }
}

extension SessionPatience.Wait {
    /// What a caller waits for while its command works.
    static let endOfCommand = SessionPatience.Wait(cause: "the command did not end")
}

extension BLEError {
    /// A limit has passed while a caller waited for this.
    static func timedOut(
        _ operation: String,
        object: String,
        after limit: Duration,
        waitingFor wait: SessionPatience.Wait
    ) -> BLEError {
        var error = timedOut(operation, object: object, after: limit, waitingFor: wait.cause)
        if let why = wait.why { error.cause += ": \(why)" }
        if let remedy = wait.remedy { error.remedy = remedy }
        return error
    }
}
