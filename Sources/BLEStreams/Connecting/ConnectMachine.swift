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
    /// A step that takes time.
    enum Step: Equatable {
        /// Until the previous link, which is closing, is down.
        case waitUntilDown
        /// The stored record of the peripheral is read where files may be read, so never on the radio's thread.
        case recall
        /// The keys of all bonds are loaded into the adapter, which resolves private addresses with them.
        case restoreKeys
        /// Waits for a turn on the radio, which all peripherals share.
        case lineUp
        /// Until one of these is heard, which reveals the kind of the address.
        case listen(for: [BluetoothAddress], atMost: Duration)
        /// A link is requested from the radio; `nil`: for as long as callers wait and the turn lasts.
        case connect(to: BluetoothAddress, atMost: Duration?)
        /// The link is up; its MTU is being negotiated, and it is encrypted if there is a bond.
        case settle(with: BluetoothAddress)
        /// Until the link that failed while it settled is down, and then for this time.
        case waitForEnd(thenPause: Duration)
        case pause(Duration)
        /// Until the adapter can be used again.
        case waitForAdapter
        /// The adapter has just come back, and may refuse its first commands.
        case rest(Duration)
    }

    /// A caller that wants a link.
    struct Waiter: Equatable {
        typealias ID = Int

        let id: ID
        /// Its time limit, and when that expires.
        let timeout: Duration
        var deadline: Duration
        /// Whether to retry if a connection was never established; if not, the caller has its own rules for that.
        var persists = true
        var patience = Patience.none
        /// The number of connections never established before the caller arrived.
        var formerFailures = 0
        /// When it began to wait for the adapter.
        var adapterFailed: Duration?
    }

    /// How long to wait for an adapter that can't be used.
    enum Patience: Equatable {
        case none
        /// Within the caller's own limit.
        case withinLimit
        /// This long; the caller's own limit restarts then.
        case upTo(Duration)
    }

    /// How long to listen for a peripheral: long enough to hear any advertiser.
    static let longestListening = Duration.seconds(12)
    /// How long to try one kind of address before the other, at first and later. Most advertisers are heard within a
    /// second or two, all within ten.
    static let firstTurn = Duration.seconds(5)
    static let laterTurn = Duration.seconds(12)
    static let adapterRest = Duration.milliseconds(250)

    /// All addresses that the peripheral may have, the likelier one first.
    let addresses: [BluetoothAddress]
    /// In the order of arrival.
    private(set) var waiters: [Waiter] = []
    /// The step in progress, and the number of the last step begun.
    private(set) var step: Step?
    private(set) var number = 0
    /// The addresses to try in turns; the first one is being tried.
    var candidates: [BluetoothAddress]
    /// The identities behind the private addresses.
    var identities: [BluetoothAddress: BluetoothAddress] = [:]
    /// Whether the radio reports a link to the peripheral, of any program; and whether that was tried.
    var hasLink = false
    var hasTriedLink = false
    /// Whether listening for the peripheral is done or unnecessary.
    var hasListened: Bool
    /// How many turns on the radio the kinds have had.
    var tries = 0
    /// The pace of retries after the failures so far.
    var pace = ConnectPace(true)
    /// The longest limit of the waiting callers, which bounds listening and the turns of each kind.
    private(set) var limit = Duration.zero
    /// The number of the step that has a turn on the radio, or waits for it.
    var turn: Int?
    /// Whether watchers of the connection were told that a link is being made.
    var isTold = false
    /// Whether the watch of the adapter was told of attempts.
    var isTrying = false
    /// Whether the adapter is being switched off and on, or reset, and whether the next step waits for that.
    var isPaused = false
    var isHeldBack = false
    /// Whether there is a bond, and whether such a step may have cost the adapter its keys since they were loaded.
    var isBonded = false
    var mayLackKeys = false
    /// Whether the link is up, and how many use it.
    private(set) var isLinked = false
    private(set) var users = 0
    /// When to check the waiting callers next.
    private var alarm: Duration?
    private(set) var isOver = false

    /// - Parameter addresses: all that the peripheral may have, the likelier one first.
    init(_ addresses: [BluetoothAddress]) {
        self.addresses = addresses
        candidates = addresses
        hasListened = addresses.count < 2
    }

    // MARK: - Steps

    /// Begins a step; the previous one's reports are ignored from then on.
    mutating func begin(_ step: Step, _ output: inout Output) {
        number &+= 1
        self.step = step
        output.begins = Output.Begin(number: number, step: step)
    }

    /// Ends the step in progress; returns whether it is this one.
    mutating func takes(_ number: Int) -> Step? { number == self.number ? step.take() : nil }

    /// Withdraws the step in progress.
    mutating func stop(_ output: inout Output) {
        if step.take() != nil { output.stops = true }
        leaveTurn(&output)
    }

    /// Leaves the radio to others.
    mutating func leaveTurn(_ output: inout Output) { if turn.take() != nil { output.leavesTurn = true } }

    // MARK: - Callers

    /// Adds a caller that wants a link.
    mutating func join(_ waiter: Waiter, now: Duration, _ output: inout Output) {
        var waiter = waiter
        waiter.formerFailures = pace.failures
        if step == .waitForAdapter {
            // It would get this answer immediately if it were the first one, too.
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

    /// Withdraws a caller, without an answer.
    mutating func leave(_ id: Waiter.ID, _ output: inout Output) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index)
        if waiters.isEmpty { abandon(&output) } else { setAlarm(&output) }
    }

    /// Answers the callers whose time has expired.
    mutating func alarmRang(now: Duration, _ output: inout Output) {
        // It may ring as it is cancelled: the link was made at this moment, or the last caller has left.
        guard !waiters.isEmpty else { return }
        alarm = nil
        let (step, failures) = (step, pace.failures)
        let isWaitingForAdapter = step == .waitForAdapter
        answer(&output) { waiter in
            guard waiter.end(isWaitingForAdapter) <= now else { return nil }
            return isWaitingForAdapter ? .failed : .timedOut(in: step, failures: failures - waiter.formerFailures)
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

    /// Sets the alarm for the first caller whose time expires.
    mutating func setAlarm(_ output: inout Output) {
        let isWaitingForAdapter = step == .waitForAdapter
        let next = waiters.lazy.map { $0.end(isWaitingForAdapter) }.min()
        guard next != alarm else { return }
        alarm = next
        output.alarm = next.map { .set($0) } ?? .cancel
    }

    // MARK: - The end

    /// No caller waits any longer: the step in progress is withdrawn.
    mutating func abandon(_ output: inout Output) {
        // A link that is already up reports its own end.
        if case .settle? = step { isTold = false }
        stop(&output)
        if isTold { output.tell(.disconnected(nil)) }
        end(isLinked: false, &output)
    }

    /// The link is ready, and all waiting callers share it.
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
        // Whoever has no attempt under way isn't told of the end of a pause; the next attempt is told of its beginning.
        (isPaused, isHeldBack) = (false, false)
    }

    /// Answers all callers with a failure, except those that wait for the adapter if it is the adapter that failed.
    mutating func giveUp(_ failure: Failure, now: Duration, _ output: inout Output) {
        stop(&output)
        answer(&output) { waiter in failure.isOfAdapter && waiter.patience != .none ? nil : .failed }
        // Watchers are not told of a new link before the previous one is down.
        if isTold { output.tell(.disconnected(failure.reason)) }
        guard !waiters.isEmpty else { return end(isLinked: false, &output) }
        endTrying(isLinked: false, &output)
        isTold = false
        updateWaiters { $0.adapterFailed = $0.adapterFailed ?? now }
        begin(.waitForAdapter, &output)
        setAlarm(&output)
    }

    // MARK: - The link

    /// Adds a user of the link.
    mutating func share() { users += 1 }

    /// Removes a user of the link; returns whether it was the last one, so that the link must be dropped.
    mutating func unshare() -> Bool {
        users -= 1
        return users <= 0
    }
}

extension ConnectMachine.Waiter {
    /// When its time expires.
    ///
    /// - Parameter isWaitingForAdapter: whether it waits for the adapter.
    func end(_ isWaitingForAdapter: Bool) -> Duration {
        guard isWaitingForAdapter, case .upTo(let limit) = patience, let adapterFailed else { return deadline }
        return adapterFailed + limit
    }
}
