import BLEProtocol
import BLERadio
import Synchronization

/// One try to connect to a peripheral, with its time limit, its repetitions, and both kinds of address if need be.
final class ConnectAttempt: Sendable {
    private struct State {
        var activities: [BluetoothAddress: RadioActivity] = [:]
        var waiting: Set<BluetoothAddress>
        var repetitionsLeft = 3
        var timer: RadioActivity?
        var isOver = false
        /// The link, while its MTU is being negotiated.
        var link: Link?
    }

    private let peripheral: Peripheral
    private let timeout: Duration
    private let begin: Duration
    private let result: @Sendable (Result<Link, BLEError>) -> Void
    private let state: Mutex<State>

    private var core: CentralCore { peripheral.core }

    /// Starts connecting; exactly one result comes, unless the returned closure is called before.
    static func start(
        to peripheral: Peripheral,
        timeout: Duration,
        result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let attempt = ConnectAttempt(peripheral, timeout, result)
        attempt.start()
        return { attempt.cancel() }
    }

    private init(
        _ peripheral: Peripheral,
        _ timeout: Duration,
        _ result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) {
        self.peripheral = peripheral
        self.timeout = timeout
        self.result = result
        begin = peripheral.core.timeline.now
        state = Mutex(State(waiting: Set([peripheral.address] + peripheral.alternatives)))
    }

    private func start() {
        let timer = core.timeline.schedule(after: timeout) { self.timedOut() }
        store {
            $0.timer = timer
        } orCancel: {
            timer
        }
        // A link of ours that is still going down would keep the peer busy for this attempt.
        core.states.whenDown(peripheral.address) {
            guard !self.state.withLock({ $0.isOver }) else { return }
            self.core.states.set(.connecting, of: self.peripheral.address)
            for address in [self.peripheral.address] + self.peripheral.alternatives { self.connect(to: address) }
        }
    }

    private func connect(to address: BluetoothAddress) {
        let activity = core.radio.connect(to: address) { self.handle($0, from: address) }
        store {
            $0.activities[address] = activity
        } orCancel: {
            activity
        }
    }

    private func store(_ change: (inout State) -> Void, orCancel activity: () -> RadioActivity) {
        let isOver = state.withLock { state in
            if !state.isOver { change(&state) }
            return state.isOver
        }
        if isOver { activity().cancel() }
    }

    private func handle(_ outcome: Result<any ATTLink, BLEError>, from address: BluetoothAddress) {
        switch outcome {
        case .success(let radioLink): established(radioLink, address)
        case .failure(let error): failed(error, address)
        }
    }

    private func established(_ radioLink: any ATTLink, _ address: BluetoothAddress) {
        let others: [RadioActivity]? = state.withLock { state in
            guard !state.isOver, state.link == nil else { return nil }
            // Under the lock, so that a second link can't come in between.
            state.link = Link(peripheral: Peripheral(core: core, address: address), radioLink: radioLink)
            defer { state.activities = [:] }
            return state.activities.filter { $0.key != address }.map(\.value)
        }
        guard let others, let link = state.withLock({ $0.link }) else {
            // Too late, or the other kind of address was faster.
            radioLink.disconnect()
            return
        }
        for other in others { other.cancel() }
        link.start { self.negotiated(link, $0) }
    }

    /// The MTU is known, or the link ended before that.
    private func negotiated(_ link: Link, _ outcome: Result<Void, BLEError>) {
        switch outcome {
        case .success:
            guard finish() else { return }
            core.states.set(.connected, of: peripheral.address)
            result(.success(link))
        case .failure(let error):
            state.withLock { $0.link = nil }
            failed(error, link.peripheral.address)
        }
    }

    private func failed(_ error: BLEError, _ address: BluetoothAddress) {
        let mayRepeat = error.code == .connectionFailed && error.reason?.kind == .failedToEstablish
        let (repeats, isLast) = state.withLock { state in
            guard !state.isOver else { return (false, false) }
            if mayRepeat, state.repetitionsLeft > 0 {
                state.repetitionsLeft -= 1
                return (true, false)
            }
            state.waiting.remove(address)
            return (false, state.waiting.isEmpty)
        }
        if repeats {
            connect(to: address)
        } else if isLast, finish() {
            core.states.set(.disconnected(error.reason), of: peripheral.address)
            var error = error
            error.elapsed = core.timeline.now - begin
            result(.failure(error))
        }
    }

    private func timedOut() {
        let link = state.withLock { $0.link }
        guard finish() else { return }
        abandon(link)
        result(.failure(.connectTimedOut(peripheral.address, after: timeout)))
    }

    private func cancel() {
        let link = state.withLock { $0.link }
        guard finish() else { return }
        abandon(link)
    }

    /// A link that is up already tells its own end.
    private func abandon(_ link: Link?) {
        if let link {
            link.beginClosing()
        } else {
            core.states.set(.disconnected(nil), of: peripheral.address)
        }
    }

    /// Ends the attempt once; whether this call did.
    private func finish() -> Bool {
        let (activities, timer, isFirst) = state.withLock { state in
            guard !state.isOver else { return ([RadioActivity](), RadioActivity?.none, false) }
            state.isOver = true
            defer {
                state.activities = [:]
                state.link = nil
            }
            return (Array(state.activities.values), state.timer.take(), true)
        }
        timer?.cancel()
        for activity in activities { activity.cancel() }
        return isFirst
    }
}

extension BLEError {
    fileprivate static func connectTimedOut(_ address: BluetoothAddress, after limit: Duration) -> BLEError {
        var error = BLEError(
            .timedOut,
            operation: "connect",
            object: "to \(address)",
            cause: "the peripheral did not accept a connection within \(limit)",
            remedy: "Look whether it is switched on, near, advertising, and not connected to another central."
        )
        error.elapsed = limit
        return error
    }
}
