import BLEProtocol
import BLERadio
import Synchronization

/// Makes the links of one central: drives a ``ConnectMachine`` for each peripheral to which a caller wants or has a
/// link.
///
/// Closures, streams, queues and sessions all get their links here. A peripheral has one link at a time, which all
/// share, and which is dropped when the last one leaves. As on the board of connection states, the octets of an address
/// identify a peripheral, whatever the address kind; and so does each private address of a known identity.
///
/// It holds no policy: every event arrives as a ``change(_:_:)``, the machine decides under the only lock, and its
/// output is carried out after the lock is released, by one thread at a time and in order: events that arrive
/// meanwhile, from outside or from carrying out an output, wait their turn.
final class Connector: Sendable {
    typealias Answer = @Sendable (Result<Link, BLEError>) -> Void

    /// A caller's request for a link.
    struct Wish {
        /// How long to try.
        var timeout: Duration = .seconds(30)
        /// The limit that an error names, of which the timeout is what is left; `nil`: the timeout.
        var limit: Duration?
        /// Whether to retry, within the time limit, if the connection failed to be established; if not, the caller is a
        /// session, which has its own rules for that.
        var persists = true
        /// Whether to wait for an adapter that can't be used.
        var patience = ConnectMachine.Patience.none
        /// The parameters of the link, if this request makes it, being the first of those that still wait; `nil`: the
        /// preference for the peripheral, or the central's.
        var parameters: ConnectionParameters?
        /// The pairing answers if the link must be raised; `nil`: those of the peripheral, or the central.
        var pairing: PairingAnswers?
    }

    /// A waiting caller.
    struct Asker {
        let peripheral: Peripheral
        /// As errors name it.
        let limit: Duration
        let begin: Duration
        /// The parameters that it wants; `nil`: the preference for the peripheral, or the central's.
        let parameters: ConnectionParameters?
        /// What its own pairing answers can do; `nil`: it has none, and those of the peripheral, or the central, count.
        let capability: PairingCapability?
        /// Whether it waits in line for a connection slot if there is none.
        let isSession: Bool
        let answer: Answer
    }

    /// One peripheral.
    struct Entry {
        /// The peripheral as the first caller named it.
        let peripheral: Peripheral
        var machine: ConnectMachine
        var askers: [ConnectMachine.Waiter.ID: Asker] = [:]
        /// The stored record of each address.
        var records: [BluetoothAddress: PeerRecord] = [:]
        /// The error if the bond's keys could not be loaded into the adapter.
        var keysNotRestored: BLEError?
        /// The parameters with which the radio was asked for the link, and the capability that it was told.
        var parameters: ConnectionParameters?
        var announced: PairingCapability?
        /// The error of the last attempt.
        var failure: BLEError?
        /// The link that the radio has made.
        var radioLink: (any ATTLink)?
        /// The link, from when it begins to settle.
        var link: Link?
        var running = Running()
        /// How many outputs remain to be carried out.
        var pending = 0
        /// Whether the entry accepts no more callers.
        var isRetired = false

        /// Where it is found among the current entries.
        var key: UInt64 { peripheral.address.rawValue }
    }

    /// What remains to be undone for a peripheral; used only by the thread that carries out outputs.
    struct Running {
        /// Takes back the step under way.
        var undo: (@Sendable () -> Void)?
        /// Ends the step under way.
        var limit: RadioActivity?
        var leaveTurn: (@Sendable () -> Void)?
        var alarm: RadioActivity?
        /// Reports the end to the watch of the adapter's reception.
        var end: RecoveryDriver.AttemptEnd?
    }

    struct State {
        var entries: [Int: Entry] = [:]
        /// The entries of the peripherals to which a caller wants or has a link.
        var current: [UInt64: Int] = [:]
        var lastNumber = 0
        var outbox: [Errand] = []
        var isCarryingOut = false
    }

    /// An output to carry out for one peripheral.
    struct Errand {
        let number: Int
        let output: ConnectMachine.Output
        /// The callers to answer; they are no longer in the table.
        let answers: [(asker: Asker, outcome: ConnectMachine.Output.Outcome)]
        let failure: BLEError?
        /// Whether the radio was asked for the link.
        let wasTried: Bool
    }

    /// The default number of peripherals to connect to side by side.
    static let width = 16

    let timeline: any Timeline
    /// How many links are requested from the radio side by side.
    let turns: Turns
    let identities: KnownIdentities
    let state = Mutex(State())

    init(timeline: any Timeline, _ identities: KnownIdentities) {
        self.timeline = timeline
        self.identities = identities
        turns = Turns(width: Self.width, limit: Turns.Limit(.seconds(5), on: timeline))
    }

    // MARK: - Requests

    /// Waits for a link, a new or a shared one; the answer is called exactly once, immediately or later, unless the
    /// returned closure is called before.
    func connect(to peripheral: Peripheral, _ wish: Wish, _ answer: @escaping Answer) -> @Sendable () -> Void {
        let asker = Asker(
            peripheral: peripheral,
            limit: wish.limit ?? wish.timeout,
            begin: timeline.now,
            parameters: wish.parameters,
            capability: wish.pairing?.capability,
            isSession: !wish.persists,
            answer: answer
        )
        let waiter = self.waiter(for: wish, since: asker.begin)
        let id = waiter.id
        let fresh = Entry(
            peripheral: peripheral,
            machine: ConnectMachine([peripheral.address] + peripheral.alternatives)
        )
        let (shared, number): (Link?, Int) = state.withLock { state in
            if let number = self.number(of: peripheral.address, state), let link = state.entries[number]?.link,
                state.entries[number]?.machine.isLinked == true
            {
                if link.bearer.end == nil {
                    state.entries[number]?.machine.share()
                    return (link, number)
                }
                // The link is lost, and some users have yet to leave it.
                state.retire(number)
            }
            let number = self.number(of: peripheral.address, state) ?? state.add(fresh)
            state.entries[number]?.askers[id] = asker
            state.change(number) { $0.join(waiter, now: asker.begin, &$1) }
            return (nil, number)
        }
        if let shared {
            answer(.success(Link(shared, share: LinkShare(number))))
            return {}
        }
        carryOut()
        announceAnew(number)
        return { self.leave(number, waiter: id) }
    }

    /// The entry of a peripheral, whichever of its addresses it was made for: the one with the link, if a bond has
    /// revealed that several are of one peripheral.
    func number(of address: BluetoothAddress, _ state: State) -> Int? {
        let own = state.current[address.rawValue]
        if let own, state.entries[own]?.machine.isLinked == true { return own }
        guard identities.mayHaveOthers(address) else { return own }
        let all = state.current.values.filter { number in
            state.entries[number].map { identities.areOfOne($0.peripheral.address, address) } ?? false
        }.sorted()
        return all.first { state.entries[$0]?.machine.isLinked == true } ?? own ?? all.first
    }

    private func waiter(for wish: Wish, since begin: Duration) -> ConnectMachine.Waiter {
        ConnectMachine.Waiter(
            id: nextWaiter(),
            timeout: wish.timeout,
            deadline: begin + wish.timeout,
            persists: wish.persists,
            patience: wish.patience
        )
    }

    /// Waits for a link, as the closure form does.
    ///
    /// - Throws: the reason if there is none; `CancellationError`.
    func connect(
        to peripheral: Peripheral,
        _ wish: Wish,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Link {
        try await reply(on: timeline, unwanted: Link.giveUp) { finish in
            connect(to: peripheral, wish) { finish($0.mapError { $0 as any Error }) }
        }
    }

    /// Withdraws a request, without an answer.
    private func leave(_ number: Int, waiter id: ConnectMachine.Waiter.ID) {
        let asker = state.withLock { state in
            state.change(number) { $0.leave(id, &$1) }
            return state.entries[number]?.askers.removeValue(forKey: id)
        }
        carryOut()
        announceAnew(number)
        // Released outside the lock: this may deallocate what it holds.
        withExtendedLifetime(asker) {}
    }

    private func nextWaiter() -> ConnectMachine.Waiter.ID { state.withLock { $0.number() } }

    /// The link to a peripheral if it is up, or also, if wanted, while it is still being made ready; otherwise `nil`.
    func link(to peripheral: Peripheral, orSettling: Bool = false) -> Link? {
        state.withLock { state in
            guard let number = number(of: peripheral.address, state), let entry = state.entries[number],
                entry.machine.isLinked || orSettling, let link = entry.link, link.bearer.end == nil
            else { return nil }
            return link
        }
    }

    // MARK: - Releasing

    /// Removes a user of a link; returns whether it was the last one, so that the link must be dropped.
    ///
    /// - Parameter number: the number of the link, among those to the peripheral.
    fileprivate func leave(_ number: Int) -> Bool {
        let (isLast, gone): (Bool, Entry?) = state.withLock { state in
            // It was already lost, and there may be another one.
            guard state.entries[number]?.isRetired == false else { return (true, nil) }
            guard state.entries[number]?.machine.unshare() != false else { return (false, nil) }
            return (true, state.retire(number))
        }
        withExtendedLifetime(gone) {}
        return isLast
    }

    // MARK: - One step

    /// Makes a step of a peripheral's machine, then carries out its output.
    func change(_ number: Int, _ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        state.withLock { $0.change(number, body) }
        carryOut()
    }

    /// Carries out pending outputs, unless that is in progress.
    func carryOut() {
        var gone: Entry?
        while let errand = state.withLock({ $0.nextErrand() }) {
            perform(errand)
            gone = state.withLock { $0.performed(errand.number) }
            withExtendedLifetime(gone) {}
        }
    }
}

extension Connector.State {
    /// Ascending: a number for an entry or a caller is never reused.
    mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func add(_ entry: Connector.Entry) -> Int {
        let number = number()
        entries[number] = entry
        current[entry.key] = number
        return number
    }

    /// Closes an entry to new callers; returns it if nothing remains to be done for it.
    @discardableResult
    mutating func retire(_ number: Int) -> Connector.Entry? {
        if let key = entries[number]?.key, current[key] == number { current[key] = nil }
        entries[number]?.isRetired = true
        return removeIfOver(number)
    }

    mutating func change(_ number: Int, _ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        guard var entry = entries[number] else { return }
        // In place, so that the machine's arrays aren't copied.
        entries[number] = nil
        var output = ConnectMachine.Output()
        body(&entry.machine, &output)
        let answers = output.answers.compactMap { answer in
            entry.askers.removeValue(forKey: answer.waiter).map { (asker: $0, outcome: answer.outcome) }
        }
        if !output.isEmpty {
            entry.pending += 1
            let (failure, tried) = (entry.failure, entry.machine.tries > 0)
            outbox.append(
                Connector.Errand(number: number, output: output, answers: answers, failure: failure, wasTried: tried)
            )
        }
        entries[number] = entry
        if entry.machine.isOver { retire(number) }
    }

    /// The next output to carry out; `nil` if there is none, or another thread is carrying it out.
    mutating func nextErrand() -> Connector.Errand? {
        guard !isCarryingOut, !outbox.isEmpty else { return nil }
        isCarryingOut = true
        return outbox.removeFirst()
    }

    mutating func performed(_ number: Int) -> Connector.Entry? {
        isCarryingOut = false
        entries[number]?.pending -= 1
        return removeIfOver(number)
    }
}

/// One user's share in a link.
final class LinkShare: Sendable {
    private let number: Int
    private let wasLast = Mutex<Bool?>(nil)

    /// - Parameter number: the number of the link, among those to the peripheral.
    init(_ number: Int) { self.number = number }

    /// Releases the share, once.
    ///
    /// - Returns: whether it was the last one, so that the link must be dropped; the same on each call.
    func leave(_ peripheral: Peripheral) -> Bool {
        wasLast.withLock { wasLast in
            let answer = wasLast ?? peripheral.core.connector.leave(number)
            wasLast = answer
            return answer
        }
    }
}
