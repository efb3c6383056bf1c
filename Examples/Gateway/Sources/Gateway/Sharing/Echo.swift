@preconcurrency import Dispatch
import Leases
import Synchronization

/// Whether what is published on a connection comes back. A broker whose access rules don't let the gateway read its own
/// topic confirms the subscription, takes the pulses, and sends nothing.
struct Echo {
    /// The broker has acknowledged a message.
    var isTaken = false
    /// How many pulses were sent.
    var pulses = 0
    /// A pulse has come back.
    var hasCome = false

    /// Whether a person should know. A broker that doesn't even acknowledge is away, or slow.
    var isMissing: Bool { isTaken && !hasCome }

    /// A pulse comes back.
    ///
    /// - Returns: whether it is the first one, and earlier ones didn't: the broker lets the gateway read from now on.
    mutating func come() -> Bool {
        defer { hasCome = true }
        return !hasCome && pulses > 1
    }
}

extension LeaseDriver {
    /// Tells a person if no pulse has come back when the time is over in which the machine needs it.
    func expectEcho(during session: SessionID) {
        let patience = Int(clamping: settings.terms.confirmation)
        clock.asyncAfter(deadline: .now() + .milliseconds(patience)) { [weak self] in self?.checkEcho(of: session) }
    }

    private func checkEcho(of session: SessionID) {
        let isMissing = state.withLock { $0.isConnected && $0.session == session && $0.echo.isMissing }
        guard isMissing else { return }
        report(
            "leases: the broker takes what this gateway publishes under \(topics.pulse(of: gateway)), but doesn't send "
                + "it back, so the gateway can hold nothing. Let it read \(settings.prefix)/# in the broker's access "
                + "rules."
        )
    }
}
