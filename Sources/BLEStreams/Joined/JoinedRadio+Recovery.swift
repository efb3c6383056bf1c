import BLEProtocol
import BLERadio

/// A radio that is several, or stands before one that is.
protocol JoiningRadio {
    var joined: JoinedRadio? { get }
}

extension JoinedRadio: JoiningRadio {
    var joined: JoinedRadio? { self }

    /// Watches each of them and does what the plan says, to that one alone: switching off one that doesn't answer leaves the
    /// links of the others up.
    func recover(by plan: RecoveryPlan) {
        for member in begin(plan) { recover(member, by: plan) }
    }

    /// Notes an attempt to connect for each of them; what is returned notes its end. It isn't paused: it goes on through
    /// another one while one is switched off.
    func began(attemptTo peer: BluetoothAddress) -> @Sendable (_ isLinked: Bool) -> Void {
        let ends = recoveryDrivers.map { $0.began(RecoveryDriver.Attempt(pause: {}, resume: {}), to: peer) }
        return { [weak self] isLinked in
            // Who has made it has heard the peer, and the others may not.
            let holder = isLinked ? self?.holder(ofLinkTo: peer)?.id : nil
            for (id, end) in ends.enumerated() { end(id == holder) }
        }
    }

    func recover(_ member: Member, by plan: RecoveryPlan) {
        let driver = RecoveryDriver(plan, radio: member.radio, scans: member.scans)
        let leave = driver.watch { [weak self] trouble in
            guard let self else { return }
            tell(.ofOne(name(of: member.id), trouble))
        }
        driver.begin()
        keep(driver, RadioActivity(onCancel: leave))
    }
}
