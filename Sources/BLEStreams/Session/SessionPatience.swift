import BLEProtocol
import BLERadio

/// How long a caller waits for a session: all its waits together.
struct SessionPatience: Sendable {
    /// What a caller still waits for when its time is over.
    struct Wait {
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

    /// - Parameter total: how long; `nil`: without limit.
    init(_ total: Duration?, _ session: Session) {
        timeline = session.core.timeline
        object = "with \(session)"
        self.total = total
        end = total.map { session.core.timeline.now + $0 } ?? .zero
    }

    /// What is left for one wait, and the error when it is used up; `nil` if there is no limit.
    ///
    /// - Parameter wait: what the caller is then waiting for.
    func rest(
        _ wait: @escaping @Sendable () -> Wait
    ) -> (duration: Duration, error: @Sendable () -> any Error)? {
        guard let total else { return nil }
        let error: @Sendable () -> any Error = { [object] in
            let awaited = wait()
            var error = BLEError.timedOut("session", object: object, after: total, waitingFor: awaited.cause)
            if let why = awaited.why { error.cause += ": \(why)" }
            if let remedy = awaited.remedy { error.remedy = remedy }
            return error
        }
        return (max(.zero, end - timeline.now), error)
    }
}
