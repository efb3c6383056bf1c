import BLEProtocol
import BLERadio

extension RecoveryDriver {
    /// An attempt to connect, which makes way for a step that switches the adapter off: Linux 6.1 is damaged where a connection
    /// is being made meanwhile.
    struct Attempt: Sendable {
        /// Takes back what the radio was asked.
        let pause: @Sendable () -> Void
        /// Asks it again.
        let resume: @Sendable () -> Void
    }

    /// Notes an attempt; what is returned notes its end, and whether it has led to a link.
    func began(_ attempt: Attempt, to peer: BluetoothAddress) -> @Sendable (_ isLinked: Bool) -> Void {
        let id = add(attempt)
        if arePaused {
            attempt.pause()
            // The step may have ended in between.
            if !arePaused { attempt.resume() }
        }
        listen { $0.began(peer) }
        return { [self] isLinked in
            guard remove(id) else { return }
            listen { $0.ended(peer, isLinked: isLinked) }
            if isLinked { perform { $0.linked() } }
        }
    }

    /// Does what is to be done about listening.
    func listen(_ input: (inout AttemptListening) -> AttemptListening.Output) {
        let output = change(input)
        switch output.timer {
        case .start(let delay)?:
            keep(timer: radio.timeline.schedule(after: delay) { [weak self] in self?.listen { $0.timerFired() } })
        case .cancel?: keep(timer: nil)
        case nil: break
        }
        if let listens = output.listens { keep(listening: listens ? beginListening() : nil) }
    }

    private func beginListening() -> RadioActivity {
        let options = ScanBroker.Options(services: [], isActive: true, reportsDuplicates: false)
        let stop = scans.add(
            options,
            // What any scan hears is heard of in one place.
            take: { _ in },
            lost: { _ in },
            fail: { [weak self] _ in self?.listen { $0.giveUp() } }
        )
        return RadioActivity(onCancel: stop)
    }
}
