import BLEProtocol
import BLERadio

extension RecoveryDriver {
    /// An attempt to connect; it is paused during a step that switches the adapter off: Linux 6.1 is damaged if a
    /// connection is being made meanwhile.
    struct Attempt: Sendable {
        /// Withdraws the request to the radio.
        let pause: @Sendable () -> Void
        /// Repeats the request.
        let resume: @Sendable () -> Void
    }

    /// Records the end of an attempt, and whether it made a link; the returned closure, which is called once, records
    /// the end of that link.
    typealias AttemptEnd = @Sendable (_ isLinked: Bool) -> @Sendable () -> Void

    /// Records an attempt; the returned closure records its end.
    func began(_ attempt: Attempt, to peer: BluetoothAddress) -> AttemptEnd {
        let id = place(attempt)
        listen { $0.began(peer) }
        return { [self] isLinked in
            let nothing: @Sendable () -> Void = {}
            guard remove(id) else { return nothing }
            let unlinked = isLinked ? countLink() : nothing
            listen { $0.ended(peer, isLinked: isLinked) }
            if isLinked { perform { $0.linked() } }
            return unlinked
        }
    }

    /// Records a part of an attempt, which is paused during such a step; the returned closure removes it.
    func add(pausing attempt: Attempt) -> @Sendable () -> Void {
        let id = place(attempt)
        return { [self] in _ = remove(id) }
    }

    private func place(_ attempt: Attempt) -> Int {
        let id = add(attempt)
        if arePaused {
            attempt.pause()
            // The step may have ended in the meantime.
            if !arePaused { attempt.resume() }
        }
        return id
    }

    /// Carries out what the input decides about listening.
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
            // Receptions of any scan are reported in one place.
            take: { _ in },
            lost: { _ in },
            fail: { [weak self] error in self?.listeningFailed(error) }
        )
        return RadioActivity(onCancel: stop)
    }

    /// An adapter that others switch off and on at once may be reported to be on before its scan fails: that report
    /// came too early to end the quiet that begins here.
    private func listeningFailed(_ error: BLEError) {
        listen { $0.giveUp() }
        if error.isAboutAdapter, radio.adapterInfo.state == .poweredOn { listen { $0.adapterReturned() } }
    }
}
