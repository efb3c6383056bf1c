internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Resets an adapter that is a USB device, as if it were unplugged and plugged in, and switches it on again if it was
/// on, or had been left off by a power break that failed. It runs to its end even if nobody waits for it.
final class AdapterReset: Sendable {
    typealias Outcome = Result<Void, BLEError>

    /// What it needs from the system; each answer may come on another thread.
    struct System: Sendable {
        /// Finds the USB device of the adapter with this name.
        var find: @Sendable (String) throws(USBDevice.OtherBus) -> USBDevice
        /// Requests the reset, and blocks until it is done.
        var order: @Sendable (USBDevice) throws(SystemError) -> Void
        /// Runs a blocking closure on its own thread.
        var runApart: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void

        /// This machine's.
        static let standard = System.of(.ofThisMachine)

        /// A kernel's.
        static func of(_ kernel: Kernel) -> System {
            System(
                find: { (name) throws(USBDevice.OtherBus) in try USBDevice.find(name, of: kernel) },
                order: { (device) throws(SystemError) in
                    try FileDescriptor.openForWriting(device.node, of: kernel).resetUSBDevice()
                },
                runApart: { (body) throws(SystemError) in try startThread(named: "ble-reset", on: kernel, body) }
            )
        }
    }

    private struct State {
        var machine: AdapterResetMachine
        var device: USBDevice?
        var timers: [AdapterResetMachine.TimerID: RadioActivity] = [:]
        /// The time that the system has for the reset, and whether it has carried it out, or refused it.
        var limit: RadioActivity?
        var hasReturned = false
        var adapter: RadioActivity?
        /// The note that it was on: held until it is on again, or its device has gone.
        var note: LeftoverNote?
        /// Why it could not be switched on.
        var failure: BLEError?
        var result: (@Sendable (Outcome) -> Void)?
    }

    private let radio: any Radio
    private let name: String
    private let system: System
    private let power: @Sendable (_ done: @escaping @Sendable (Outcome) -> Void) -> Void
    private let note: @Sendable () -> LeftoverNote?
    private let isOverruled: @Sendable () -> Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - radio: the adapter's; it is watched.
    ///   - isLeftOff: whether it is off only because it could not be switched on again.
    ///   - power: switches it on, as a part of the reset and no wish of the program.
    ///   - note: notes that it must be switched on again, in case the program is killed.
    ///   - isOverruled: whether the program has switched it off since this was requested: then it stays off.
    ///   - result: called once.
    init(
        _ radio: any Radio,
        system: System = .standard,
        isLeftOff: Bool = false,
        switchingOn power: @escaping @Sendable (_ done: @escaping @Sendable (Outcome) -> Void) -> Void,
        noting note: @escaping @Sendable () -> LeftoverNote? = { nil },
        unless isOverruled: @escaping @Sendable () -> Bool = { false },
        result: @escaping @Sendable (Outcome) -> Void
    ) {
        self.power = power
        self.note = note
        self.isOverruled = isOverruled
        self.radio = radio
        self.system = system
        let adapter = radio.adapterInfo
        name = adapter.name
        let machine = AdapterResetMachine(adapter: adapter.state, isLeftOff: isLeftOff)
        state = Mutex(State(machine: machine, result: result))
    }

    /// Starts.
    func begin() {
        let device: USBDevice
        do throws(USBDevice.OtherBus) {
            device = try system.find(name)
        } catch {
            return finish(.failure(.nothingToReset(name, error)))
        }
        state.withLock { $0.device = device }
        // A program that may not switch it on again must not reset it; an adapter that is on stays on.
        guard state.withLock({ $0.machine.mustBeOn }) else { return order(device) }
        switchOn { [self] failure in
            if let failure, failure.code == .permissionDenied { return finish(.failure(failure)) }
            let note = note()
            state.withLock { $0.note = note }
            order(device)
        }
    }

    private func order(_ device: USBDevice) {
        if StuckCalls.contains(device.node) { return perform { $0.orderIsOverdue() } }
        let limit = radio.timeline.schedule(afterAwake: AdapterResetMachine.longestOrder) { [self] in
            isOverdue(device)
        }
        state.withLock { $0.limit = limit }
        let order: @Sendable () -> Void = { [self, order = system.order] in
            do throws(SystemError) {
                try order(device)
                ordered(nil)
            } catch {
                ordered(error)
            }
        }
        do throws(SystemError) {
            try system.runApart(order)
        } catch {
            ordered(error)
        }
    }

    /// Where a driver is stuck, the reset that waits for it never ends.
    private func isOverdue(_ device: USBDevice) {
        let isStuck = state.withLock { state in
            if !state.hasReturned { StuckCalls.insert(device.node) }
            return !state.hasReturned
        }
        if isStuck { perform { $0.orderIsOverdue() } }
    }

    private func ordered(_ error: SystemError?) {
        let limit = state.withLock { state in
            state.hasReturned = true
            if let device = state.device { StuckCalls.remove(device.node) }
            return state.limit.take()
        }
        limit?.cancel()
        // The current state, not the earlier one.
        let now = radio.adapterInfo.state
        _ = state.withLock { $0.machine.adapterIs(now) }
        perform { $0.ordered(error) }
        guard state.withLock({ $0.result != nil }) else { return }
        let adapter = radio.observeAdapter { [self] info in perform { $0.adapterIs(info.state) } }
        let superfluous = state.withLock { state -> RadioActivity? in
            guard state.result != nil else { return adapter }
            state.adapter = adapter
            return nil
        }
        superfluous?.cancel()
    }

    // MARK: - What the machine says

    private func perform(_ input: (inout AdapterResetMachine) -> AdapterResetMachine.Output) {
        let output = state.withLock { input(&$0.machine) }
        for timer in output.timers {
            switch timer {
            case .start(let id, let delay):
                let timer = radio.timeline.schedule(afterAwake: delay) { [self] in perform { $0.timerFired(id) } }
                state.withLock { $0.timers[id] = timer }
            case .cancel(let id): state.withLock { $0.timers.removeValue(forKey: id) }?.cancel()
            }
        }
        if output.switchesOn {
            if isOverruled() { return finish(.success(())) }
            switchOn { [self] failure in
                state.withLock { $0.failure = failure }
                let isPassing = failure.map { mayPass($0) } ?? false
                perform { $0.switched(on: failure == nil, isPassing: isPassing) }
            }
        }
        guard let end = output.end else { return }
        let isStuck = if case .stuck = end { true } else { false }
        finish(outcome(of: end), isStuck: isStuck)
    }

    private func switchOn(_ done: @escaping @Sendable (BLEError?) -> Void) {
        power { outcome in
            if case .failure(let error) = outcome { done(error) } else { done(nil) }
        }
    }

    /// Whether the adapter may be switched on a moment later. One that has gone again may come back, even if the error
    /// names a switch of the machine that is off: the switch may be another adapter's.
    private func mayPass(_ failure: BLEError) -> Bool {
        failure.isPassing || failure.code == .adapterBlocked && radio.adapterInfo.state != .blocked
    }

    private func outcome(of end: AdapterResetMachine.End) -> Outcome {
        let (device, failure) = state.withLock { ($0.device, $0.failure) }
        switch end {
        case .back: return .success(())
        case .refused(let error): return .failure(.resetRefused(name, device, error))
        case .stuck(let time): return .failure(.resetStuck(name, device, after: time))
        case .gone(let time): return .failure(.neverCameBack(name, after: time))
        case .unusable:
            let now = radio.adapterInfo
            let reason = failure ?? now.state.error(operation: "reset", object: now.name)
            guard let error = reason else { return .success(()) }
            let isLeftOff = now.state != .poweredOn && state.withLock { $0.machine.mustBeOn }
            return .failure(isLeftOff ? error.leavingOff(now.name) : error)
        }
    }

    /// - Parameter isStuck: whether the system may still reset it: one that is on may be off then.
    private func finish(_ outcome: Outcome, isStuck: Bool = false) {
        let over = state.withLock { state in
            let over = state
            (state.result, state.adapter, state.timers, state.note) = (nil, nil, [:], nil)
            return over
        }
        // The next program may switch on an adapter that is still off, unless this one has switched it off meanwhile.
        if case .success = outcome { over.note?.forget() }
        if !isStuck, radio.adapterInfo.state == .poweredOn { over.note?.forget() }
        if isOverruled() { over.note?.forget() }
        over.adapter?.cancel()
        for timer in over.timers.values { timer.cancel() }
        over.result?(outcome)
    }
}

extension BLEError {
    /// Whether an adapter that has just come back may accept it a moment later.
    fileprivate var isPassing: Bool {
        // A kernel that is still making the adapter ready also answers with a mere "Failed".
        [.adapterNotFound, .adapterNotReady, .adapterPoweredOff, .timedOut, .busy, .systemFailure].contains(code)
    }
}
