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
    /// advertise seldom.
    func listen(to session: Session) async {
        let interval = Duration.milliseconds(max(100, driver.settings.terms.silence / 6))
        while (try? await Task.sleep(for: interval)) != nil {
            guard session.state.isReady else { continue }
            driver.hear(tenure.address, (try? await session.link?.rssi()) ?? nil)
        }
    }
}
