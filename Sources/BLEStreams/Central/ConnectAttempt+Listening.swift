import BLEProtocol
import BLERadio
import Synchronization

/// Finding out of which kind an address is.
extension ConnectAttempt {
    /// How long the peripheral is listened for: all advertisers are heard in that time.
    private static let longestListening = Duration.seconds(12)

    /// Waits for an advertisement, which tells the kind of the address.
    func listen() {
        let (turn, candidates) = state.withLock { state in
            state.turn &+= 1
            return (state.turn, Set(state.candidates))
        }
        let end = core.timeline.schedule(after: min(Self.longestListening, timeout / 2)) { self.listened(turn) }
        let options = ScanBroker.Options(services: [], isActive: true, reportsDuplicates: false)
        let stop = core.scans.add(
            options,
            take: { reports in
                let heard = reports.first { candidates.contains($0.address) }
                if let heard { self.listened(turn, heard.address) }
            },
            lost: { _ in },
            // Without the permission to scan, for one.
            fail: { _ in self.listened(turn) }
        )
        let isOutdated = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return true }
            state.endOfTurn = end
            state.activity = RadioActivity { stop() }
            return false
        }
        guard isOutdated else { return }
        end.cancel()
        stop()
    }

    /// It has been listened for long enough, in vain or not.
    private func listened(_ turn: Int, _ address: BluetoothAddress? = nil) {
        let activities: [RadioActivity?]? = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return nil }
            // What comes late belongs to a turn that is over.
            state.turn &+= 1
            if let address { state.candidates = [address] }
            return [state.endOfTurn.take(), state.activity.take()]
        }
        guard let activities else { return }
        for activity in activities { activity?.cancel() }
        connect()
    }
}
