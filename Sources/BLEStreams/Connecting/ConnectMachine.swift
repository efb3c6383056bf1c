import BLEProtocol
import BLERadio

/// The callers that want a link to one peripheral, and the steps to make one; a value.
///
/// One ``Step`` is under way at a time; it has a number, and reports with another number are stale. Each waiting caller
/// has its own limit, and is answered once: with the link, which they share, or with the reason why there is none. The
/// machine makes one link: a caller that comes after it is lost begins another machine.
///
/// A link on which nothing was received doesn't count: another one is made, at the ``ConnectPace``, for callers that
/// persist. No caller sees such a link.
///
/// If the kind of the address is unknown, the peripheral's own advertisements reveal it. If the program can't scan, or
/// receives none, both kinds are tried in turns, never at the same time: Linux distinguishes pending connections to one
/// address by its octets alone. With two, it gives the link to the wrong socket, and Linux 6.1 no longer connects to
/// any device once the other socket is closed.
struct ConnectMachine: Equatable {
    /// What takes time.
    enum Step: Equatable {
        /// Until the link before, which is being closed, is down.
        case waitUntilDown
        /// What is kept of the peripheral is read, where files may be read: on the radio's thread none is touched any more.
        case recall
        /// The adapter is given the keys of all bonds: it looks behind private addresses with them.
        case restoreKeys
        /// The radio's turns are shared by all peripherals.
        case lineUp
        /// Until one of these is heard, which tells the kind of the address.
        case listen(for: [BluetoothAddress], atMost: Duration)
        /// The radio is asked for a link; `nil`: for as long as somebody wants it, and has its turn.
        case connect(to: BluetoothAddress, atMost: Duration?)
        /// The link is up; its MTU is negotiated, and it is encrypted where there is a bond.
        case settle(with: BluetoothAddress)
        /// Until the link that failed while it settled is down; then for so long.
        case waitForEnd(thenPause: Duration)
        case pause(Duration)
        /// Until the adapter can be used again.
        case waitForAdapter
        /// The adapter has just come back, and may refuse its first commands.
        case rest(Duration)
    }

    /// One that wants a link.
    struct Waiter: Equatable {
        typealias ID = Int

        let id: ID
        /// For how long it waits, and until when.
        let timeout: Duration
        var deadline: Duration
        /// Whether it has another try made where a connection was never established; if not, it has rules of its own for that.
        var persists = true
        var patience = Patience.none
        /// The connections of this machine that were never established before it came.
        var formerFailures = 0
        /// Since when it waits for the adapter.
        var adapterFailed: Duration?
    }

    /// Whether one waits for an adapter that can't be used.
    enum Patience: Equatable {
        case none
        /// Within its own limit.
        case withinLimit
        /// For so long; its own limit begins anew then.
        case upTo(Duration)
    }

    /// How long a peripheral is listened for: all advertisers are heard in that time.
    static let longestListening = Duration.seconds(12)
    /// How long one kind of address is tried before the other has its turn, at first and later. Most advertisers are heard
    /// within a second or two, all within ten.
    static let firstTurn = Duration.seconds(5)
    static let laterTurn = Duration.seconds(12)
    static let adapterRest = Duration.milliseconds(250)

    /// All that the peripheral may have; the first one is the likelier.
    let addresses: [BluetoothAddress]
    /// In the order in which they came.
    private(set) var waiters: [Waiter] = []
    /// What is under way, and the number of the last step that was begun.
    private(set) var step: Step?
    private(set) var number = 0
    /// The addresses that have not failed; the first one has its turn.
    var candidates: [BluetoothAddress]
    /// Who is behind those of the addresses that are private.
    var identities: [BluetoothAddress: BluetoothAddress] = [:]
    /// Whether there is a link to the peripheral, somebody's, as the radio says; and whether that has been tried for.
    var hasLink = false
    var hasTriedLink = false
    /// Whether it has been listened for the peripheral, or need not be.
    var hasListened: Bool
    /// How often the kinds have had the radio.
    var tries = 0
    /// How the failures so far are followed up.
    var pace = ConnectPace(true)
    /// The longest limit of those who wait, which bounds listening and the turns of each kind.
    private(set) var limit = Duration.zero
    /// The number of the step that has, or waits for, the radio's turn.
    var turn: Int?
    /// Whether whoever watches the connection has been told that a link is being made.
    var isTold = false
    /// Whether it is being tried, as whoever watches the adapter was told.
    var isTrying = false
    /// Whether the adapter is being switched off and on, and whether the next step waits for that.
    var isPaused = false
    var isHeldBack = false
    /// Whether the link is up, and how many use it.
    private(set) var isLinked = false
    private(set) var users = 0
    /// When those who wait are looked at next.
    private var alarm: Duration?
    private(set) var isOver = false

    /// - Parameter addresses: all that the peripheral may have; the first one is the likelier.
    init(_ addresses: [BluetoothAddress]) {
        self.addresses = addresses
        candidates = addresses
        hasListened = addresses.count < 2
    }

    // MARK: - Steps

    /// Begins one; of the one before nothing is heard any more.
    mutating func begin(_ step: Step, _ output: inout Output) {
        number &+= 1
        self.step = step
        output.begins = Output.Begin(number: number, step: step)
    }

    /// Whether this is what is under way; it is over now.
    mutating func takes(_ number: Int) -> Step? { number == self.number ? step.take() : nil }

    /// Takes back what is under way.
    mutating func stop(_ output: inout Output) {
        if step.take() != nil { output.stops = true }
        leaveTurn(&output)
    }

    /// Leaves the radio to others.
    mutating func leaveTurn(_ output: inout Output) { if turn.take() != nil { output.leavesTurn = true } }

    // MARK: - Those who wait

    /// One more wants a link.
    mutating func join(_ waiter: Waiter, now: Duration, _ output: inout Output) {
        var waiter = waiter
        waiter.formerFailures = pace.failures
        if step == .waitForAdapter {
            // It would be told so at once, too, if it came first.
            guard waiter.patience != .none else {
                return output.answers.append(Output.Answer(waiter: waiter.id, outcome: .failed))
            }
            waiter.adapterFailed = now
        }
        waiters.append(waiter)
        limit = max(limit, waiter.timeout)
        if number == 0 { start(&output) }
        setAlarm(&output)
    }

    /// One wants it no more; it is told nothing.
    mutating func leave(_ id: Waiter.ID, _ output: inout Output) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index)
        if waiters.isEmpty { abandon(&output) } else { setAlarm(&output) }
    }

    /// Those are told whose time is over.
    mutating func alarmRang(now: Duration, _ output: inout Output) {
        alarm = nil
        let (isWaitingForAdapter, failures) = (step == .waitForAdapter, pace.failures)
        answer(&output) { waiter in
            guard waiter.end(isWaitingForAdapter) <= now else { return nil }
            return isWaitingForAdapter ? .failed : .timedOut(failures: failures - waiter.formerFailures)
        }
        if waiters.isEmpty { abandon(&output) } else { setAlarm(&output) }
    }

    /// Answers the waiting callers that have an outcome, and removes them.
    mutating func answer(_ output: inout Output, _ outcome: (Waiter) -> Output.Outcome?) {
        let asked = waiters
        waiters = []
        for waiter in asked {
            if let outcome = outcome(waiter) {
                output.answers.append(Output.Answer(waiter: waiter.id, outcome: outcome))
            } else {
                waiters.append(waiter)
            }
        }
    }

    mutating func updateWaiters(_ change: (inout Waiter) -> Void) {
        for index in waiters.indices { change(&waiters[index]) }
    }

    /// Sees to it that those who wait are looked at when the first one's time is over.
    mutating func setAlarm(_ output: inout Output) {
        let isWaitingForAdapter = step == .waitForAdapter
        let next = waiters.lazy.map { $0.end(isWaitingForAdapter) }.min()
        guard next != alarm else { return }
        alarm = next
        output.alarm = next.map { .set($0) } ?? .cancel
    }

    // MARK: - The end

    /// Nobody waits any more: what is under way is taken back.
    mutating func abandon(_ output: inout Output) {
        // A link that is up already tells its own end.
        if case .settle? = step { isTold = false }
        stop(&output)
        if isTold { output.tell(.disconnected(nil)) }
        end(isLinked: false, &output)
    }

    /// The link is there, and all who have waited share it.
    mutating func linked(_ output: inout Output) {
        output.tell(.connected)
        users = waiters.count
        isLinked = true
        answer(&output) { _ in .linked }
        end(isLinked: true, &output)
    }

    private mutating func end(isLinked: Bool, _ output: inout Output) {
        endTrying(isLinked: isLinked, &output)
        isTold = false
        isOver = !isLinked
        setAlarm(&output)
    }

    private mutating func endTrying(isLinked: Bool, _ output: inout Output) {
        if isTrying { output.ends = isLinked }
        isTrying = false
    }

    /// All who wait hear of a failure, but those who wait for the adapter where it is that which has failed.
    mutating func giveUp(_ failure: Failure, now: Duration, _ output: inout Output) {
        stop(&output)
        answer(&output) { waiter in failure.isOfAdapter && waiter.patience != .none ? nil : .failed }
        // Nobody is told that a link is being made before the one before is down.
        if isTold { output.tell(.disconnected(failure.reason)) }
        guard !waiters.isEmpty else { return end(isLinked: false, &output) }
        endTrying(isLinked: false, &output)
        isTold = false
        updateWaiters { $0.adapterFailed = $0.adapterFailed ?? now }
        begin(.waitForAdapter, &output)
        setAlarm(&output)
    }

    // MARK: - The link

    /// One more uses the link that is up.
    mutating func share() { users += 1 }

    /// One who has used the link doesn't any more; whether nobody is left, and it is to be dropped.
    mutating func unshare() -> Bool {
        users -= 1
        return users <= 0
    }
}

extension ConnectMachine.Waiter {
    /// When its time is over.
    ///
    /// - Parameter isWaitingForAdapter: whether it is the adapter that it waits for.
    func end(_ isWaitingForAdapter: Bool) -> Duration {
        guard isWaitingForAdapter, case .upTo(let limit) = patience, let adapterFailed else { return deadline }
        return adapterFailed + limit
    }
}
