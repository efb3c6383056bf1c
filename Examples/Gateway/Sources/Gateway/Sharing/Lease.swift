import BLEStreams
import Leases

/// The lease by which a gateway follows a peripheral; it is asked before each action.
struct Lease: Sendable {
    let driver: LeaseDriver
    let tenure: Tenure

    /// Whether the gateway holds the peripheral at this moment.
    var isHeld: Bool { driver.holds(tenure.id) }

    /// What each message about the peripheral carries; `nil`: the lease is over, and nothing may be published.
    var members: [(String, JSONText)]? { driver.members(tenure.id) }

    /// Tells how well the peripheral is received on a link, until the task is cancelled: connected peripherals
    /// advertise seldom. And tells if the session isn't ready for long: then another gateway may try.
    func listen(to session: Session) async {
        let terms = driver.settings.terms
        let interval = Duration.milliseconds(max(100, min(terms.silence, terms.patience * 2) / 6))
        var reachedAt = ContinuousClock.now
        while (try? await Task.sleep(for: interval)) != nil {
            if session.state.isReady {
                reachedAt = .now
                driver.reach(tenure.id)
                driver.hear(tenure.address, (try? await session.link?.rssi()) ?? nil)
            } else if reachedAt.duration(to: .now) >= .milliseconds(terms.patience) {
                reachedAt = .now
                driver.giveUp(tenure)
            }
        }
    }
}
