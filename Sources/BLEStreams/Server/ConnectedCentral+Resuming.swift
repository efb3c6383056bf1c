import BLEProtocol
import BLERadio
import Synchronization

extension ConnectedCentral {
    /// For how long a bonded central may take to encrypt its link before its subscriptions are reported anyway.
    private static let patience = Duration.seconds(5)

    /// Reports a bonded central's subscriptions from earlier links: they apply without being written again. Those that
    /// need a more secure link are reported as soon as the link is known to be secure enough: the radio or a PDU may
    /// tell, and if nothing does, they are reported after some time.
    func resume() {
        bearer.resumeServing()
        // What it missed is indicated before it asks for anything.
        bearer.synchronize()
        guard bearer.serve({ server, _ in server.hasKept }) else { return }
        let observer = bearer.radioLink.observeSecurity { [weak bearer] in bearer?.refreshSecurity() }
        let timer = bearer.timeline.schedule(after: Self.patience) { [weak bearer] in
            bearer?.refreshSecurity()
            bearer?.resumeServing(waitsForSecurity: false)
        }
        let hasEnded = state.withLock { state in
            if state.end == nil { state.resuming += [observer, timer] }
            return state.end != nil
        }
        if hasEnded { for activity in [observer, timer] { activity.cancel() } }
        // Encrypted before it was observed.
        if bearer.radioLink.security.isEncrypted { bearer.refreshSecurity() }
    }
}
