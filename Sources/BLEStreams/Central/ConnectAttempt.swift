import BLEProtocol
import BLERadio
import Synchronization

/// One try to connect to a peripheral, with its time limit, its repetitions, and both kinds of address if need be.
///
/// Where the kind is not known the peripheral's own advertisements tell it. What can't be listened for, or isn't heard,
/// is tried: the two kinds take turns, and never wait side by side: Linux tells connections that are being made to one address
/// apart by its octets alone. It gives the link to the wrong one of two sockets then, and 6.1 connects to nobody any
/// more once the other one is closed.
final class ConnectAttempt: Sendable {
    private struct State {
        var activity: RadioActivity?
        /// The addresses that have not failed; the first one has its turn.
        var candidates: [BluetoothAddress]
        /// Counts the turns, listening being the first of them.
        var turn = 0
        /// Whether it has been listened for the peripheral, or need not be.
        var hasListened: Bool
        /// Ends the turn, where there are other candidates.
        var endOfTurn: RadioActivity?
        var repetitionsLeft: Int
        var timer: RadioActivity?
        var isOver = false
        /// Why the adapter could not be given the keys of the bond with the peripheral.
        var keysNotRestored: BLEError?
        /// What is kept of each of the addresses.
        var records: [BluetoothAddress: PeerRecord] = [:]
        /// The link, while its MTU is being negotiated.
        var link: Link?
    }

    /// How long one kind of address is tried before the other has its turn, at first and later. Most advertisers are heard
    /// within a second or two, all within ten.
    private static let firstTurn = Duration.seconds(5)
    private static let laterTurn = Duration.seconds(12)

    /// How long the peripheral is listened for: all advertisers are heard in that time.
    private static let longestListening = Duration.seconds(12)

    private let peripheral: Peripheral
    private let timeout: Duration
    private let parameters: ConnectionParameters?
    private let begin: Duration
    private let result: @Sendable (Result<Link, BLEError>) -> Void
    private let state: Mutex<State>

    private var core: CentralCore { peripheral.core }

    /// Starts connecting, or shares the link or the attempt that there is; exactly one result comes, at once or later,
    /// unless the returned closure is called before.
    ///
    /// - Parameters:
    ///   - repetitions: how often it is tried again at once when the connection failed to be established.
    ///   - parameters: what the link is to be like, where it is this call that makes it; `nil`: what is preferred for the
    ///     peripheral, or by the central.
    static func start(
        to peripheral: Peripheral,
        timeout: Duration,
        repetitions: Int = 3,
        parameters: ConnectionParameters? = nil,
        result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        peripheral.core.links.join(
            peripheral,
            timeout: timeout,
            begin: { peripheral, timeout, result in
                let attempt = ConnectAttempt(peripheral, timeout, repetitions, parameters, result)
                attempt.start()
                return { attempt.cancel() }
            },
            result
        )
    }

    private init(
        _ peripheral: Peripheral,
        _ timeout: Duration,
        _ repetitions: Int,
        _ parameters: ConnectionParameters?,
        _ result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) {
        self.peripheral = peripheral
        self.timeout = timeout
        self.parameters = parameters ?? peripheral.core.preferences[peripheral.address]
        self.result = result
        begin = peripheral.core.timeline.now
        let hasListened = peripheral.alternatives.isEmpty
        let candidates = [peripheral.address] + peripheral.alternatives
        state = Mutex(State(candidates: candidates, hasListened: hasListened, repetitionsLeft: repetitions))
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
            self.recall()
        }
    }

    /// Reads what is kept of the peripheral: afterwards, on the radio's thread, no file is touched any more.
    private func recall() {
        let (core, addresses) = (core, [peripheral.address] + peripheral.alternatives)
        core.store.perform(on: core.timeline) {
            let records = addresses.map { ($0, core.store.record(of: $0)) }
            self.state.withLock { $0.records = Dictionary(records, uniquingKeysWith: { first, _ in first }) }
            let isBonded = records.contains { !$1.bonds(with: $0).isEmpty }
            if isBonded { self.restoreBonds() } else { self.connect() }
        }
    }

    /// The adapter must have the keys before it connects: it looks behind private addresses with them too. That it can't
    /// be given them is no reason not to try: it may have them.
    private func restoreBonds() {
        let undo = core.restoreAllBonds { error in
            self.state.withLock { state in
                state.keysNotRestored = error
                state.activity = nil
            }
            self.connect()
        }
        let activity = RadioActivity { undo() }
        store {
            // The answer may have come already, and the first turn begun.
            if $0.turn == 0 { $0.activity = activity }
        } orCancel: {
            activity
        }
    }

    /// Gives the first candidate a turn, once it has been listened for all of them.
    private func connect() {
        let mustListen = state.withLock { state in
            defer { state.hasListened = true }
            return !state.hasListened && !state.isOver
        }
        if mustListen { return listen() }
        let next: (turn: Int, address: BluetoothAddress, hasOthers: Bool)? = state.withLock { state in
            guard !state.isOver, let address = state.candidates.first else { return nil }
            state.turn &+= 1
            return (state.turn, address, state.candidates.count > 1)
        }
        guard let (turn, address, hasOthers) = next else { return }
        if hasOthers {
            let length = turn <= peripheral.alternatives.count + 2 ? Self.firstTurn : Self.laterTurn
            let end = core.timeline.schedule(after: min(length, timeout / 4)) { self.end(turn) }
            store {
                if $0.turn == turn { $0.endOfTurn = end }
            } orCancel: {
                end
            }
        }
        let activity = core.radio.connect(to: address, parameters: parameters) {
            self.handle($0, from: address, turn)
        }
        store {
            // The answer may have come already, and another turn begun.
            if $0.turn == turn { $0.activity = activity }
        } orCancel: {
            activity
        }
    }

    /// Waits for an advertisement, which tells the kind of the address.
    private func listen() {
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

    /// Leaves the radio to the next candidate, unless this turn is over in another way.
    private func end(_ turn: Int) {
        let activity: RadioActivity?? = state.withLock { state in
            guard !state.isOver, state.link == nil, state.turn == turn else { return nil }
            state.candidates.append(state.candidates.removeFirst())
            return .some(state.activity.take())
        }
        guard let activity else { return }
        activity?.cancel()
        connect()
    }

    private func store(_ change: (inout State) -> Void, orCancel activity: () -> RadioActivity) {
        let isOver = state.withLock { state in
            if !state.isOver { change(&state) }
            return state.isOver
        }
        if isOver { activity().cancel() }
    }

    private func handle(_ outcome: Result<any ATTLink, BLEError>, from address: BluetoothAddress, _ turn: Int) {
        switch outcome {
        case .success(let radioLink): established(radioLink, address, turn)
        case .failure(let error): failed(error, turn)
        }
    }

    private func established(_ radioLink: any ATTLink, _ address: BluetoothAddress, _ turn: Int) {
        let endOfTurn: RadioActivity?? = state.withLock { state in
            guard !state.isOver, state.link == nil, state.turn == turn else { return nil }
            // Under the lock, so that the turn can't end in between.
            state.link = Link(
                peripheral: Peripheral(core: core, address: address),
                radioLink: radioLink,
                record: state.records[address] ?? PeerRecord()
            )
            state.activity = nil
            return .some(state.endOfTurn.take())
        }
        guard let endOfTurn, let link = state.withLock({ $0.link }) else {
            // Too late: the attempt, or this kind's turn, is over.
            radioLink.disconnect()
            return
        }
        endOfTurn?.cancel()
        link.start(keysNotRestored: state.withLock { $0.keysNotRestored }) { self.negotiated(link, turn, $0) }
    }

    /// The MTU is known, or the link ended before that.
    private func negotiated(_ link: Link, _ turn: Int, _ outcome: Result<Void, BLEError>) {
        switch outcome {
        case .success:
            guard finish() else { return }
            core.states.set(.connected, of: peripheral.address)
            result(.success(link))
        case .failure(let error):
            state.withLock { state in
                state.link = nil
                // The peripheral was there: it is of this kind.
                state.candidates = [link.peripheral.address]
            }
            // A peer may end a link that it still had with an earlier program, and takes a fresh one then.
            failed(error, turn, mayRepeat: link.bearer.radioLink.isResumed && error.code == .disconnected)
        }
    }

    private func failed(_ error: BLEError, _ turn: Int, mayRepeat: Bool = false) {
        let mayRepeat = mayRepeat || error.code == .connectionFailed && error.reason?.kind == .failedToEstablish
        let (endOfTurn, goesOn): (RadioActivity?, Bool?) = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return (nil, nil) }
            if mayRepeat, state.repetitionsLeft > 0 {
                state.repetitionsLeft -= 1
            } else {
                state.candidates.removeFirst()
            }
            return (state.endOfTurn.take(), !state.candidates.isEmpty)
        }
        endOfTurn?.cancel()
        guard let goesOn else { return }
        if goesOn {
            connect()
        } else if finish() {
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
        let activities: [RadioActivity?]? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            state.link = nil
            return [state.timer.take(), state.endOfTurn.take(), state.activity.take()]
        }
        guard let activities else { return false }
        for activity in activities { activity?.cancel() }
        return true
    }
}

extension BLEError {
    static func connectTimedOut(_ address: BluetoothAddress, after limit: Duration) -> BLEError {
        var error = BLEError(
            .timedOut,
            operation: "connect",
            object: "to \(address)",
            cause: "the peripheral did not accept a connection within \(limit)",
            remedy: "Check that it is switched on, near, advertising, and not connected to another central."
        )
        error.elapsed = limit
        return error
    }
}
