internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The advertisements of one scan that wait for their missing parts, as ``HCIReportMerger`` decides.
final class HeldReports: Sendable {
    private struct State {
        var merger = HCIReportMerger()
        var flush: RadioActivity?
        var passOn: (@Sendable ([AdvertisingReport]) -> Void)?
        var isOver = false
    }

    /// How long, and at most twice that, an advertisement waits for its scan response; a controller reports the two
    /// within milliseconds.
    static let responseDelay = Duration.milliseconds(100)

    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(on loop: EventLoop, _ timeline: any Timeline) { (self.loop, self.timeline) = (loop, timeline) }

    /// Whether an advertisement of this device waits.
    func holds(_ address: BluetoothAddress) -> Bool { state.withLock { $0.merger.holds(address) } }

    /// Has the closure called, on the loop's thread, with what has waited in vain.
    func begin(passingOn passOn: @escaping @Sendable ([AdvertisingReport]) -> Void) {
        state.withLock { $0.passOn = passOn }
    }

    /// Takes advertisements; returns the reports that are complete now, in order.
    ///
    /// - Parameter isActive: whether scan responses are requested.
    func add(_ advertisements: [HCIAdvertisement], isActive: Bool, time: ReceptionTime) -> [AdvertisingReport] {
        let (reports, mustFlush) = state.withLock { state in
            let reports = advertisements.flatMap { state.merger.add($0, isActive: isActive, time: time) }
            return (reports, state.merger.isHolding && state.flush == nil && !state.isOver)
        }
        if mustFlush { flushLater() }
        return reports
    }

    /// Some of the controller's events were lost: what is held may lack a part.
    func missedEvents() { state.withLock { $0.merger.missedEvents() } }

    /// Nothing is passed on from now on.
    func end() {
        let (timer, passOn) = state.withLock { state in
            defer { (state.flush, state.passOn, state.isOver) = (nil, nil, true) }
            return (state.flush, state.passOn)
        }
        timer?.cancel()
        // Released outside the lock: this may deallocate what it holds.
        withExtendedLifetime(passOn) {}
    }

    private func flushLater() {
        let timer = timeline.schedule(after: Self.responseDelay) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.flush() }
        }
        state.withLock { if !$0.isOver { $0.flush = timer } }
    }

    private func flush() {
        let (reports, passOn, isMore) = state.withLock { state in
            state.flush = nil
            let reports = state.isOver ? [] : state.merger.flush()
            return (reports, state.passOn, state.merger.isHolding && !state.isOver)
        }
        // What came since the last flush waits for the next one, even if nothing else comes.
        if isMore { flushLater() }
        if !reports.isEmpty { passOn?(reports) }
    }
}
