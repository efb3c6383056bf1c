internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Switches an adapter on, ready for Low Energy, or off, through the management socket.
final class PowerSwitch: Sendable {
    /// How often the kernel is told to switch on or off while it is busy or fails, or to switch on if it has not done
    /// it.
    private static let attempts = 3
    /// How often the kernel is told to switch on again, while it is busy, an adapter that this program has switched off
    /// for a moment: nobody else switches it on, and another program's command may wait for a controller that answers
    /// nothing.
    private static let patience = 120
    private static let pause = Duration.seconds(1)
    /// How long the kernel may take to close the adapter: it waits for what it has begun with the controller, which
    /// takes 20 s at most, while it connects.
    private static let longestClosing = Duration.seconds(60)

    private let isOn: Bool
    /// Whether it is a part of a power break or a reset, and no wish of the program.
    private let isPart: Bool
    /// Whether it is told again what the kernel fails to do, and for long while the kernel is busy.
    private let insists: Bool
    private let wish: PowerWish
    private let management: ManagementSocket
    private let adapter: LinuxAdapter
    private let loop: EventLoop
    private let timeline: any Timeline
    private let sink: EventSink<Result<Void, BLEError>>
    private let closedLate: @Sendable () -> Void
    private let timer = Mutex<RadioActivity?>(nil)

    /// - Parameters:
    ///   - mark: the beginning of the power break or the reset that this is a part of; `nil`: the program wishes it.
    ///   - insists: whether the kernel is told again if it fails to do such a part: nobody else switches an adapter on
    ///     that was off for a break. A reset itself tries again.
    ///   - closedLate: called on the loop's thread if the kernel has closed the adapter after all, when that counted as
    ///     a failure already.
    init(
        _ isOn: Bool,
        partOf mark: PowerWish? = nil,
        insists: Bool = true,
        _ management: ManagementSocket,
        _ adapter: LinuxAdapter,
        loop: EventLoop,
        timeline: any Timeline,
        sink: EventSink<Result<Void, BLEError>>,
        closedLate: @escaping @Sendable () -> Void = {}
    ) {
        self.isOn = isOn
        isPart = mark != nil
        self.insists = insists && mark != nil
        wish = mark ?? PowerWish.ask(isOn, of: adapter)
        self.management = management
        self.adapter = adapter
        self.loop = loop
        self.timeline = timeline
        self.sink = sink
        self.closedLate = closedLate
    }

    /// Whether the kernel was told to close an adapter, has not done it in time, and may do it yet.
    static func isBeingClosed(_ adapter: LinuxAdapter) -> Bool { StuckCalls.contains(closing(adapter)) }

    private static func closing(_ adapter: LinuxAdapter) -> String { "close \(adapter.name)" }

    /// How often to try to switch it on while the kernel is busy.
    private var waits: Int { insists ? Self.patience : Self.attempts }

    /// Starts, on the loop's thread; runs to its end even if nobody waits for it.
    func begin() {
        if !isOn { SwitchedHere.insert(adapter.name) }
        if isOn {
            // A dual-mode adapter may have Low Energy off; a Low Energy-only one reports that it is on.
            management.submit(ManagementSetLowEnergy(true)) { [self] _ in
                switchOn(attempt: 1)
            }
        } else {
            switchOff(attempt: 1)
        }
    }

    /// An adapter that was just switched off is still being closed when the kernel reports that it is off. If told then
    /// to switch it on, the kernel mistakes the end of the closing for the answer to that: it reports success, with
    /// settings in which the adapter is off (6.12, measured; `mgmt_set_powered_complete` in `net/bluetooth/mgmt.c`
    /// identifies a command by its memory address, which is that of the previous one).
    ///
    /// - Parameter waited: how often the kernel was busy, or a later wish under way.
    private func switchOn(attempt: Int, waited: Int = 0) {
        switch wish.contrary(to: true) {
        case .none: break
        case .asked where waited + 1 < waits:
            return pause { [self] in switchOn(attempt: attempt, waited: waited + 1) }
        case .asked, .granted: return end(.failure(.switchedOffMeanwhile(adapter.name)))
        }
        management.submit(ManagementSetPowered(true)) { [self] answer in
            switch answer {
            case .success(let answer) where !answer.settings.contains(.powered):
                guard attempt < Self.attempts else { return end(.failure(.staysOff(adapter.name))) }
                switchOn(attempt: attempt + 1, waited: waited)
            case .failure(.status(.busy, _)) where waited + 1 < waits:
                // Another program's command for its power is under way; nobody else would switch it on after that.
                pause { [self] in switchOn(attempt: attempt, waited: waited + 1) }
            case .failure(.status(.failed, _)) where insists && attempt < Self.attempts && !isHeldOff:
                pause { [self] in switchOn(attempt: attempt + 1, waited: waited) }
            case .success, .failure:
                finish(answer.map { _ in })
            }
        }
    }

    /// Whether no repetition helps: rfkill blocks it, or it is unplugged.
    private var isHeldOff: Bool {
        let state = adapter.info.state
        return state == .blocked || state == .absent
    }

    private func switchOff(attempt: Int) {
        management.submit(ManagementSetPowered(false)) { [self] answer in
            guard case .failure(let failure) = answer else { return finish(.success(())) }
            if failure.isSilence { return close(otherwise: failure) }
            guard failure.isPassing else { return finish(.failure(failure)) }
            if attempt == Self.attempts {
                return wish.contrary(to: false) == .none ? close(otherwise: failure) : finish(.failure(failure))
            }
            management.submit(ManagementStopDiscovery()) { [self] _ in
                pause { [self] in
                    guard wish.contrary(to: false) == .none else { return finish(.failure(failure)) }
                    switchOff(attempt: attempt + 1)
                }
            }
        }
    }

    private func pause(then proceed: @escaping @Sendable () -> Void) {
        let timer = timeline.schedule(after: Self.pause, proceed)
        self.timer.withLock { $0 = timer }
    }

    /// Makes the kernel close the adapter without asking the controller: it refuses to switch an adapter off whose scan
    /// it can't end, be it that the controller is silent, or disallows that since it has no scan. It may take seconds,
    /// so it is done on its own thread; where the driver is stuck, that never returns. Source: kernel,
    /// `net/bluetooth/hci_sync.c`, `hci_power_off_sync`.
    private func close(otherwise failure: ManagementFailure) {
        let name = Self.closing(adapter)
        if StuckCalls.contains(name) { return giveUp() }
        let closed = EventSink<Bool> { [self] isClosed in finish(isClosed ? .success(()) : .failure(failure)) }
        // The thread keeps this object.
        let limit = timeline.schedule(afterAwake: Self.longestClosing) { [weak self, loop] in
            loop.enqueue { [weak self] in
                guard let self, closed.isOpen else { return }
                closed.close()
                StuckCalls.insert(name)
                giveUp()
            }
        }
        timer.withLock { $0 = limit }
        let close: @Sendable () -> Void = { [self] in
            let isClosed = (try? adapter.close()) != nil
            loop.enqueue { [self] in
                limit.cancel()
                StuckCalls.remove(name)
                if closed.isOpen { closed.finish(isClosed) } else if isClosed { closedLate() }
            }
        }
        do throws(SystemError) {
            try startThread(named: "ble-off", on: adapter.kernel, close)
        } catch {
            limit.cancel()
            closed.finish(false)
        }
    }

    /// What the kernel has said to the command matters no more.
    private func giveUp() {
        SwitchedHere.remove(adapter.name)
        end(.failure(.closingStuck(adapter.name, after: Self.longestClosing)))
    }

    private func finish(_ outcome: Result<Void, ManagementFailure>) {
        switch outcome {
        case .success where isOn:
            // The timer keeps this object, and so itself.
            let timer = SwitchedHere.removeLater(adapter.name, on: timeline) { [self] in withExtendedLifetime(self) {} }
            self.timer.withLock { $0 = timer }
        case .failure where !isOn: SwitchedHere.remove(adapter.name)
        default: break
        }
        let operation = isOn ? "switch on" : "switch off"
        end(outcome.mapError { $0.error(operation: operation, object: adapter.name, adapter: adapter) })
    }

    private func end(_ outcome: Result<Void, BLEError>) {
        if !isPart { wish.end(isGranted: outcome.failure == nil) }
        sink.finish(outcome)
    }
}

/// The adapters that this program has switched off itself, through any of its radios, and that were neither on nor
/// unplugged since: the errors of activities that end say so.
enum SwitchedHere {
    private struct State {
        var count = 0
        /// Which power-off was the last one, by the adapter's name.
        var last: [String: Int] = [:]
    }

    /// How long after it is on again it is removed: activities that ended with the adapter are reported a moment later.
    private static let pause = Duration.seconds(1)

    private static let state = Mutex(State())

    static func insert(_ adapter: String) {
        state.withLock { state in
            state.count += 1
            state.last[adapter] = state.count
        }
    }

    static func remove(_ adapter: String) { state.withLock { $0.last[adapter] = nil } }

    /// Removes it a moment later, unless it is switched off once more.
    ///
    /// - Parameter removed: called then.
    /// - Returns: the timer; `nil` if there is nothing to remove.
    static func removeLater(
        _ adapter: String,
        on timeline: any Timeline,
        _ removed: @escaping @Sendable () -> Void = {}
    ) -> RadioActivity? {
        guard let last = state.withLock({ $0.last[adapter] }) else { return nil }
        return timeline.schedule(after: pause) {
            state.withLock { if $0.last[adapter] == last { $0.last[adapter] = nil } }
            removed()
        }
    }

    static func contains(_ adapter: String) -> Bool { state.withLock { $0.last[adapter] != nil } }
}

extension ManagementFailure {
    /// Whether the kernel may accept it a moment later.
    fileprivate var isPassing: Bool {
        switch self {
        case .status(.failed, _), .status(.busy, _): true
        case .status, .timedOut, .broken: false
        }
    }
}
