internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// An advertisement monitor of the kernel, kept as ``MonitorMachine`` decides.
final class ScanMonitor: Sendable {
    private struct State: ~Copyable {
        var machine = MonitorMachine()
        var timer: RadioActivity?
        /// Tells a later run of a program that the monitor belongs to this one.
        var note: LeftoverNote?
    }

    private let management: ManagementSocket
    private let place: ScanPlace
    private let report: @Sendable (MonitorMachine.Output.Report) -> Void
    private let state = Mutex(State())

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
    }

    /// Adds it, unless it is there.
    func want() { perform { $0.want() } }

    /// Removes it; the kernel is told before this returns, unless it owes an answer.
    func unwant() { perform { $0.unwant() } }

    /// Another program has removed a monitor.
    func removed(_ handle: UInt16) { perform { $0.removed(handle) } }

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
        note(expected)
        // The answer is awaited even after the scan was cancelled: a monitor that it reports is removed.
        management.submit(ManagementAddPatternsMonitor([Self.pattern])) { [self] answer in
            if let handle = try? answer.get().handle, handle != expected { note(handle) }
            perform { $0.added(answer.map(\.handle)) }
        }
    }

    private func remove(_ handle: UInt16) {
        management.undo(ManagementRemoveMonitor(handle: handle)) { [place] in
            // Noted again: the next scan on this adapter removes it, of this program or of a later one.
            if let facts = place.adapter() {
                _ = place.leftovers.note(KernelThing(.monitor, handle, of: facts))
            }
        }
        // Not when the answer comes: the program may have ended by then, and the number may belong to another program
        // later.
        state.withLock { $0.note.take() }?.forget()
    }

    /// Notes, before the kernel has it, that the monitor belongs to this program.
    private func note(_ handle: UInt16) {
        guard let facts = place.adapter() else { return }
        let note = place.leftovers.note(KernelThing(.monitor, handle, of: facts))
        let former = state.withLock { state in
            defer { state.note = note }
            return state.note.take()
        }
        former?.forget()
    }

    /// Removes the note of a monitor that other programs have removed.
    private func forgetWhatIsGone() {
        let note = state.withLock { $0.machine.handle == nil ? $0.note.take() : nil }
        note?.forget()
    }
}
