import BLEProtocol
import BLERadio

/// How long a caller waits for a session: all its waits together.
struct SessionPatience: Sendable {
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
    /// - Parameter cause: what the caller is then waiting for, in words.
    func rest(
        _ cause: @escaping @Sendable () -> String
    ) -> (duration: Duration, error: @Sendable () -> any Error)? {
        guard let total else { return nil }
        let error: @Sendable () -> any Error = { [object] in
            BLEError.timedOut("session", object: object, after: total, waitingFor: cause())
        }
        return (max(.zero, end - timeline.now), error)
    }
}
