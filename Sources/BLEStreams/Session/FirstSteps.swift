import BLERadio

/// The program's own first steps on one link of a session.
///
/// A task that they have started, and that outlives them, still finds them in its context: so they know when they have
/// ended.
final class FirstSteps: Sendable {
    let end = Ending<Void>()
    private let session: ObjectIdentifier

    init(of session: Session) { self.session = ObjectIdentifier(session) }

    /// Whether they are this session's, and have not ended.
    func areTaken(by session: Session) -> Bool { self.session == ObjectIdentifier(session) && !end.hasEnded }
}
