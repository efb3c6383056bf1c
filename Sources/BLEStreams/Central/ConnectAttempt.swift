import BLEProtocol
import BLERadio
import Synchronization

/// One try to connect to a peripheral, with its time limit, its repetitions, and both kinds of address if need be.
///
/// A link on which nothing was heard was none: another one is made, for as long as the limit lasts and at the
/// ``ConnectPace``. Nobody has seen such a link.
///
/// Where the kind is not known the peripheral's own advertisements tell it. What can't be listened for, or isn't heard,
/// is tried: the two kinds take turns, and never wait side by side: Linux tells connections that are being made to one address
/// apart by its octets alone. It gives the link to the wrong one of two sockets then, and 6.1 connects to nobody any
/// more once the other one is closed.
final class ConnectAttempt: Sendable {
    struct State {
        var activity: RadioActivity?
        /// The addresses that have not failed; the first one has its turn.
        var candidates: [BluetoothAddress]
        /// Counts the turns, listening being the first of them.
        var turn = 0
        /// The last turn in which the radio was asked to connect.
        var connectingTurn: Int?
        /// Whether the adapter is being switched off and on, and whether the next turn waits for that.
        var isPaused = false
        var isHeldBack = false
        /// Notes the end, where it is watched whether the adapter hears.
        var end: (@Sendable (_ isLinked: Bool) -> Void)?
        /// Whether it has been listened for the peripheral, or need not be.
        var hasListened: Bool
        /// Whether the link that there may be has been tried for.
        var hasTriedLink = false
        /// Ends the turn, where there are other candidates.
        var endOfTurn: RadioActivity?
        /// How the failures so far are followed up.
        var pace: ConnectPace
        var timer: RadioActivity?
        var isOver = false
        /// Why the adapter could not be given the keys of the bond with the peripheral.
        var keysNotRestored: BLEError?
        /// Who is behind those of the addresses that are private.
        var identities: [BluetoothAddress: BluetoothAddress] = [:]
        /// What is kept of each of the addresses.
        var records: [BluetoothAddress: PeerRecord] = [:]
        /// The link, while its MTU is being negotiated.
        var link: Link?
    }

    /// How long one kind of address is tried before the other has its turn, at first and later. Most advertisers are heard
    /// within a second or two, all within ten.
    private static let firstTurn = Duration.seconds(5)
    private static let laterTurn = Duration.seconds(12)

    let peripheral: Peripheral
    let timeout: Duration
    private let parameters: ConnectionParameters?
    /// What the program can do for the person who pairs, where the link may be raised.
    private let capability: PairingCapability?
    let begin: Duration
    let result: @Sendable (Result<Link, BLEError>) -> Void
    let state: Mutex<State>

    var core: CentralCore { peripheral.core }

    /// Starts connecting, or shares the link or the attempt that there is; exactly one result comes, at once or later,
    /// unless the returned closure is called before.
    ///
    /// - Parameters:
    ///   - persists: whether it is tried again, within the time limit, when the connection failed to be established; if not,
    ///     who asks has rules of its own for that.
    ///   - parameters: what the link is to be like, where it is this call that makes it; `nil`: what is preferred for the
    ///     peripheral, or by the central.
    ///   - pairing: who answers when the link has to be raised; `nil`: as it was said for the peripheral, or the central.
    static func start(
        to peripheral: Peripheral,
        timeout: Duration,
        persists: Bool = true,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        peripheral.core.links.join(
            peripheral,
            timeout: timeout,
            persists: persists,
            begin: { peripheral, timeout, persists, result in
                let attempt = ConnectAttempt(peripheral, timeout, persists, parameters, pairing, result)
                attempt.start()
                return SharedLinks.UnderWay(cancel: { attempt.cancel() }, failures: { attempt.failures })
            },
            result
        )
    }

    private init(
        _ peripheral: Peripheral,
        _ timeout: Duration,
        _ persists: Bool,
        _ parameters: ConnectionParameters?,
        _ pairing: PairingAnswers?,
        _ result: @escaping @Sendable (Result<Link, BLEError>) -> Void
    ) {
        self.peripheral = peripheral
        self.timeout = timeout
        capability = (pairing ?? peripheral.core.preferences.answers(for: peripheral.address))?.capability
        self.parameters = parameters ?? peripheral.core.preferences[peripheral.address]
        self.result = result
        begin = peripheral.core.timeline.now
        let hasListened = peripheral.alternatives.isEmpty
        let candidates = [peripheral.address] + peripheral.alternatives
        state = Mutex(State(candidates: candidates, hasListened: hasListened, pace: ConnectPace(persists)))
    }

    private func start() {
        watch()
        let timer = core.timeline.schedule(after: timeout) { self.timedOut() }
        store {
            $0.timer = timer
        } orCancel: {
            timer
        }
        // A link of ours that is still going down would keep the peer busy for this attempt.
        core.states.whenDown(peripheral.address) {
            if self.tellConnecting() { self.recall() }
        }
    }

    /// Reads what is kept of the peripheral: afterwards, on the radio's thread, no file is touched any more.
    private func recall() {
        let (core, addresses) = (core, [peripheral.address] + peripheral.alternatives)
        core.store.perform(on: core.timeline) {
            let known = addresses.map { (address: $0, identity: core.identity(of: $0)) }
            let records = known.map { ($0.identity, core.store.record(of: $0.identity)) }
            let isBonded = records.contains { !$1.bonds(with: $0).isEmpty }
            self.state.withLock { state in
                for ((address, identity), (_, record)) in zip(known, records) {
                    state.records[address] = record
                    state.records[identity] = record
                    if address != identity { state.identities[address] = identity }
                }
            }
            if isBonded { self.restoreBonds() } else { self.connect() }
        }
    }

    /// What there are of keys may turn out not to be good enough.
    private func expectPairing() {
        guard let capability, capability != .noInputNoOutput else { return }
        for (address, record) in state.withLock({ $0.records }) {
            let bonds = record.bonds(with: address)
            if !bonds.isEmpty, !bonds.contains(where: \.isAuthenticated) {
                core.radio.expectPairing(with: address, as: capability)
            }
        }
    }

    /// The adapter must have the keys before it connects: it looks behind private addresses with them too. That it can't
    /// be given them is no reason not to try: it may have them.
    private func restoreBonds() {
        expectPairing()
        let undo = core.restoreAllBonds { error in
            self.state.withLock { state in
                state.keysNotRestored = error
                state.activity = nil
                // An adapter that has the key knows the peripheral by its identity alone.
                state.candidates = state.candidates.flatMap { address -> [BluetoothAddress] in
                    guard let identity = state.identities[address] else { return [address] }
                    return error == nil ? [identity] : [identity, address]
                }
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

    /// Gives the first candidate a turn, once it has been listened for all of them. Who has a link may not be heard, and is
    /// tried before; where that tells nothing, the link was about to end.
    func connect() {
        guard !holdsBack() else { return }
        let isLinked = core.radio.hasLink(to: peripheral.address)
        let mustListen = state.withLock { state in
            guard !state.hasListened, !state.isOver else { return false }
            state.hasListened = state.hasTriedLink || !isLinked
            state.hasTriedLink = true
            return state.hasListened
        }
        if mustListen { return listen() }
        let next: (turn: Int, address: BluetoothAddress, hasOthers: Bool)? = state.withLock { state in
            guard !state.isOver, let address = state.candidates.first else { return nil }
            state.turn &+= 1
            state.connectingTurn = state.turn
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

    func store(_ change: (inout State) -> Void, orCancel activity: () -> RadioActivity) {
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
        link.start(keysNotRestored: state.withLock { $0.keysNotRestored }, parameters: parameters) {
            self.negotiated(link, turn, $0)
        }
    }
}
