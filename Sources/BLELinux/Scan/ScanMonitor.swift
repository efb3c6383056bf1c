internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// An advertisement monitor of the kernel, kept as ``MonitorMachine`` decides.
final class ScanMonitor: Sendable {
    private struct State: ~Copyable {
        var machine = MonitorMachine()
        var timer: RadioActivity?
        /// The adapter that has the monitor, or will have it.
        var index: ManagementIndex?
        /// Whether the kernel has reported that it was removed, and has added no monitor since.
        var isGone = false
    }

    private let management: ManagementSocket
    private let place: ScanPlace
    private let report: @Sendable (MonitorMachine.Output.Report) -> Void
    private let state = Mutex(State())
    /// Tells a later run of a program that the monitor belongs to this one.
    private let note: HeldNote

    /// Any pattern will do: the kernel ignores patterns, unless the controller matches them.
    private static let pattern = ManagementAdvertisingPattern(type: 0x01, value: [0x06])

    init(
        through management: ManagementSocket,
        place: ScanPlace,
        report: @escaping @Sendable (MonitorMachine.Output.Report) -> Void
    ) {
        self.management = management
        self.place = place
        self.report = report
        note = HeldNote(in: place.leftovers)
    }

    /// Adds it, unless it is there.
    func want() { perform { $0.want() } }

    /// Removes it; the kernel is told before this returns, unless it owes an answer.
    func unwant() { perform { $0.unwant() } }

    /// The same, for good.
    func end() { perform { $0.end() } }

    /// Another program has removed a monitor.
    func removed(_ handle: UInt16) { perform { $0.removed(handle) } }

    /// The kernel has reported that the adapter was removed, and the monitor with it.
    func adapterIsGone() { state.withLock { $0.isGone = true } }

    /// Some of the kernel's events were lost.
    func missedEvents() { perform { $0.missedEvents() } }

    private func perform(_ input: (inout MonitorMachine) -> MonitorMachine.Output) {
        let output = state.withLock { input(&$0.machine) }
        switch output.timer {
        case .start(let delay):
            let timer = place.timeline.schedule(after: delay) { [weak self, loop = place.loop] in
                loop.enqueue { [weak self] in self?.perform { $0.timerFired() } }
            }
            state.withLock { $0.timer = timer }
        case .cancel: state.withLock { $0.timer.take() }?.cancel()
        case nil: break
        }
        switch output.command {
        case .readFeatures:
            management.submit(ManagementReadMonitorFeatures()) { [self] answer in
                perform { $0.featuresRead(answer) }
            }
        case .add(let expected): add(expecting: expected)
        case .remove(let handle): remove(handle)
        case nil: break
        }
        forgetWhatIsGone()
        if let news = output.report { report(news) }
    }

    private func add(expecting expected: UInt16) {
        let index = place.adapter().map { ManagementIndex(rawValue: $0.number) }
        state.withLock { ($0.index, $0.isGone) = (index, false) }
        hold(expected)
        // The answer is awaited even after the scan was cancelled: a monitor that it reports is removed.
        management.submit(ManagementAddPatternsMonitor([Self.pattern]), index: index) { [self] answer in
            switch answer {
            case .success(let added):
                // An adapter whose removal was reported before this answer is there again, and has the monitor.
                state.withLock { $0.isGone = false }
                hold(added.handle)
            // Unless the kernel has refused it, it may have it.
            case .failure(let failure) where failure.status == nil:
                leave(expected)
            case .failure: break
            }
            perform { $0.added(answer.map(\.handle)) }
        }
    }

    private func remove(_ handle: UInt16) {
        // A query that fails at this moment is no reason to leave the monitor where it is. An adapter that is there
        // again may have another program's under this number.
        let (index, isGone) = state.withLock { ($0.index, $0.isGone) }
        if !isGone {
            management.undo(ManagementRemoveMonitor(handle: handle), index: index) { [self] in leave(handle) }
        }
        // Not when the answer comes: the program may have ended by then, and the number may belong to another program
        // later.
        note.forget()
    }

    /// Notes, before the kernel has it, that the monitor belongs to this program.
    private func hold(_ handle: UInt16) {
        if let facts = place.adapter() { _ = note.hold(KernelThing(.monitor, handle, of: facts)) }
    }

    private func leave(_ handle: UInt16) {
        if let facts = place.adapter() { note.leave(KernelThing(.monitor, handle, of: facts)) }
    }

    /// Removes the note of a monitor that other programs have removed.
    private func forgetWhatIsGone() {
        if state.withLock({ $0.machine.handle == nil }) { note.forget() }
    }
}
