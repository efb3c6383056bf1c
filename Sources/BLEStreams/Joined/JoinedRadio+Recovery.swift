import BLEProtocol
import BLERadio

/// A radio made of several others, or one that wraps such a radio.
protocol JoiningRadio {
    var joined: JoinedRadio? { get }
}

extension JoinedRadio: JoiningRadio {
    var joined: JoinedRadio? { self }

    /// Watches each of them and takes the plan's steps on that one alone: switching off an adapter that doesn't answer
    /// leaves the links of the others up.
    ///
    /// - Parameter identity: the identity behind a private address; the address itself if that is unknown.
    func recover(
        by plan: RecoveryPlan,
        identity: @escaping @Sendable (BluetoothAddress) -> BluetoothAddress = { $0 }
    ) {
        let recovery = Recovery(plan: plan, identity: identity)
        for member in begin(recovery) { recover(member, by: recovery) }
    }

    /// Records an attempt to connect for each of them; the returned closure records its end. The attempt isn't paused:
    /// ``JoinedConnect`` continues through another adapter while one is switched off.
    func began(attemptTo peer: BluetoothAddress) -> RecoveryDriver.AttemptEnd {
        let ends = recoveryDrivers.map { id, driver in
            (id: id, end: driver.began(RecoveryDriver.Attempt(pause: {}, resume: {}), to: peer))
        }
        return { [weak self] isLinked in
            // The adapter that made the link has received the peer; the others may not have, and none misses it now.
            let holder = isLinked ? self?.holder(ofLinkToWhoeverIs: peer)?.id : nil
            let unlinked = ends.map { id, end in end(id == holder) }
            if isLinked { self?.linked(to: peer, forAllBut: holder) }
            return { for end in unlinked { end() } }
        }
    }

    private func linked(to peer: BluetoothAddress, forAllBut holder: AdapterChooser.AdapterID?) {
        for (id, driver) in recoveryDrivers where id != holder { driver.linkedElsewhere(peer) }
    }

    func recover(_ member: Member, by recovery: Recovery) {
        let driver = RecoveryDriver(
            recovery.plan,
            radio: member.radio,
            scans: member.scans,
            identity: recovery.identity
        )
        let leave = driver.watch { [weak self] trouble in
            guard let self else { return }
            tell(.ofOne(name(of: member.id), trouble))
        }
        driver.begin()
        keep(driver, of: member.id, RadioActivity(onCancel: leave))
    }
}
