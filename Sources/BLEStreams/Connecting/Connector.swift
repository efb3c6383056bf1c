import BLEProtocol
import BLERadio
import Synchronization

/// Makes the links of one central: drives a ``ConnectMachine`` for each peripheral to which a caller wants or has a
/// link.
///
/// Closures, streams, queues and sessions all get their links here. A peripheral has one link at a time, which all
/// share, and which is dropped when the last one leaves. As on the board of connection states, the octets of an address
/// identify a peripheral, whatever the address kind.
///
/// It holds no policy: every event arrives as a ``change(_:_:)``, the machine decides under the only lock, and its
/// output is carried out after the lock is released, by one thread at a time and in order: events that arrive
/// meanwhile, from outside or from carrying out an output, wait their turn.
final class Connector: Sendable {
    typealias Answer = @Sendable (Result<Link, BLEError>) -> Void

    /// What one wants.
    struct Wish {
        /// For how long to try.
        var timeout: Duration = .seconds(30)
        /// Whether it is tried again, within the time, when the connection failed to be established; if not, who asks has rules
        /// of its own for that.
        var persists = true
        /// Whether an adapter that can't be used is waited for.
        var patience = ConnectMachine.Patience.none
        /// What the link is to be like, where it is this wish that makes it; `nil`: what is preferred for the peripheral, or by the
        /// central.
        var parameters: ConnectionParameters?
        /// Who answers when the link has to be raised; `nil`: as it was said for the peripheral, or the central.
        var pairing: PairingAnswers?
    }

    /// One who waits.
    struct Asker {
        let peripheral: Peripheral
        let timeout: Duration
        let begin: Duration
        let answer: Answer
    }

    /// One peripheral.
    struct Entry {
        /// As the first one who wanted a link gave it.
        let peripheral: Peripheral
        let parameters: ConnectionParameters?
        /// What the program can do for the person who pairs, where the link may be raised.
        let capability: PairingCapability?
        var machine: ConnectMachine
        var askers: [ConnectMachine.Waiter.ID: Asker] = [:]
        /// What is kept of each of the addresses.
        var records: [BluetoothAddress: PeerRecord] = [:]
        /// Why the adapter could not be given the keys of the bond with the peripheral.
        var keysNotRestored: BLEError?
        /// Why the last try has failed.
        var failure: BLEError?
        /// What the radio has made.
        var radioLink: (any ATTLink)?
        /// The link, from when it begins to settle.
        var link: Link?
        var running = Running()
        /// How many outputs are yet to be carried out.
        var pending = 0
        /// Whether nobody comes to it any more.
        var isRetired = false
    }

    /// What is to be undone of a peripheral; only who carries out touches it.
    struct Running {
        /// Takes back the step under way.
        var undo: (@Sendable () -> Void)?
        /// Ends the step under way.
        var limit: RadioActivity?
        var leaveTurn: (@Sendable () -> Void)?
        var alarm: RadioActivity?
        /// Notes the end, where it is watched whether the adapter hears.
        var end: (@Sendable (_ isLinked: Bool) -> Void)?
    }

    struct State {
        var entries: [Int: Entry] = [:]
        /// Which of the entries are those of peripherals that somebody wants a link to, or has one.
        var current: [UInt64: Int] = [:]
        var lastNumber = 0
        var outbox: [Errand] = []
        var isCarryingOut = false
    }

    /// What is to be carried out for one peripheral.
    struct Errand {
        let number: Int
        let output: ConnectMachine.Output
        /// Who is answered; they are in the table no more.
        let answers: [(asker: Asker, outcome: ConnectMachine.Output.Outcome)]
        let failure: BLEError?
    }

    /// So many peripherals are connected to side by side.
    static let width = 16

    let timeline: any Timeline
    /// How many peripherals the radio is asked for side by side.
    let turns: Turns
    let state = Mutex(State())

    init(timeline: any Timeline) {
        self.timeline = timeline
        turns = Turns(width: Self.width, limit: Turns.Limit(.seconds(5), on: timeline))
    }

    // MARK: - Coming

    /// Waits for a link, one's own or one that others have; exactly one answer comes, at once or later, unless what is
    /// returned is called before.
    func connect(to peripheral: Peripheral, _ wish: Wish, _ answer: @escaping Answer) -> @Sendable () -> Void {
        let asker = Asker(peripheral: peripheral, timeout: wish.timeout, begin: timeline.now, answer: answer)
        let waiter = self.waiter(for: wish, since: asker.begin)
        let id = waiter.id
        // Asked for before the lock is taken: what is preferred is under locks of its own.
        let fresh = self.entry(for: peripheral, wish)
        let key = peripheral.address.rawValue
        let (shared, number): (Link?, Int) = state.withLock { state in
            if let number = state.current[key], let link = state.entries[number]?.link,
                state.entries[number]?.machine.isLinked == true
            {
                if link.bearer.end == nil {
                    state.entries[number]?.machine.share()
                    return (link, number)
                }
                // Lost, and some have yet to leave it.
                state.retire(number, key)
            }
            let number = state.current[key] ?? state.add(fresh, key)
            state.entries[number]?.askers[id] = asker
            state.change(number) { $0.join(waiter, now: asker.begin, &$1) }
            return (nil, number)
        }
        if let shared {
            answer(.success(Link(shared, share: LinkShare(number))))
            return {}
        }
        carryOut()
        return { self.leave(number, waiter: id) }
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

    private func entry(for peripheral: Peripheral, _ wish: Wish) -> Entry {
        let preferences = peripheral.core.preferences
        return Entry(
            peripheral: peripheral,
            parameters: wish.parameters ?? preferences[peripheral.address],
            capability: (wish.pairing ?? preferences.answers(for: peripheral.address))?.capability,
            machine: ConnectMachine([peripheral.address] + peripheral.alternatives)
        )
    }

    /// Waits for a link, as the closure form does.
    ///
    /// - Throws: why there is none; `CancellationError`.
    func connect(
        to peripheral: Peripheral,
        _ wish: Wish,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Link {
        try await reply(on: timeline, unwanted: Link.giveUp) { finish in
            connect(to: peripheral, wish) { finish($0.mapError { $0 as any Error }) }
        }
    }

    /// One wants no link any more, and is told nothing.
    private func leave(_ number: Int, waiter id: ConnectMachine.Waiter.ID) {
        let asker = state.withLock { state in
            state.change(number) { $0.leave(id, &$1) }
            return state.entries[number]?.askers.removeValue(forKey: id)
        }
        carryOut()
        // Released outside the lock: what it holds may be deallocated with it.
        withExtendedLifetime(asker) {}
    }

    private func nextWaiter() -> ConnectMachine.Waiter.ID { state.withLock { $0.number() } }

    /// The link to a peripheral that is up; `nil` where there is none.
    func link(to peripheral: Peripheral) -> Link? {
        state.withLock { state in
            guard let number = state.current[peripheral.address.rawValue], let entry = state.entries[number],
                entry.machine.isLinked, let link = entry.link, link.bearer.end == nil
            else { return nil }
            return link
        }
    }

    // MARK: - Going

    /// A link is down: whoever still has a part in it finds nothing any more.
    func ended(_ peripheral: Peripheral) {
        let key = peripheral.address.rawValue
        let gone = state.withLock { state -> Entry? in
            guard let number = state.current[key], let entry = state.entries[number], entry.machine.isLinked,
                entry.link?.bearer.end != nil
            else { return nil }
            return state.retire(number, key)
        }
        // Released outside the lock: what it holds may be deallocated with it.
        withExtendedLifetime(gone) {}
    }

    /// One who has used a link doesn't any more; whether nobody is left, and it is to be dropped.
    ///
    /// - Parameter number: which of the links to the peripheral it was.
    fileprivate func leave(_ number: Int, _ key: UInt64) -> Bool {
        let (isLast, gone): (Bool, Entry?) = state.withLock { state in
            // It was lost before, and there may be another one.
            guard state.current[key] == number else { return (true, nil) }
            guard state.entries[number]?.machine.unshare() != false else { return (false, nil) }
            return (true, state.retire(number, key))
        }
        withExtendedLifetime(gone) {}
        return isLast
    }

    // MARK: - One step

    /// Asks the machine of a peripheral, then carries out what it says.
    func change(_ number: Int, _ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        state.withLock { $0.change(number, body) }
        carryOut()
    }

    /// Carries out what there is to be done, unless that is under way.
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
    /// Rises: what stands for an entry or for one who waits stands for no other.
    mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func add(_ entry: Connector.Entry, _ key: UInt64) -> Int {
        let number = number()
        entries[number] = entry
        current[key] = number
        return number
    }

    /// Has nobody come to an entry any more; it is handed back where nothing of it is left to do.
    @discardableResult
    mutating func retire(_ number: Int, _ key: UInt64) -> Connector.Entry? {
        if current[key] == number { current[key] = nil }
        entries[number]?.isRetired = true
        return entries[number]?.pending == 0 ? entries.removeValue(forKey: number) : nil
    }

    mutating func change(_ number: Int, _ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        guard var entry = entries[number] else { return }
        // In place, so that the arrays of the machine aren't copied.
        entries[number] = nil
        var output = ConnectMachine.Output()
        body(&entry.machine, &output)
        let answers = output.answers.compactMap { answer in
            entry.askers.removeValue(forKey: answer.waiter).map { (asker: $0, outcome: answer.outcome) }
        }
        if !output.isEmpty {
            entry.pending += 1
            outbox.append(
                Connector.Errand(number: number, output: output, answers: answers, failure: entry.failure)
            )
        }
        entries[number] = entry
        if entry.machine.isOver { retire(number, entry.peripheral.address.rawValue) }
    }

    /// What is to be carried out next; `nil` where there is nothing, or somebody is at it.
    mutating func nextErrand() -> Connector.Errand? {
        guard !isCarryingOut, !outbox.isEmpty else { return nil }
        isCarryingOut = true
        return outbox.removeFirst()
    }

    mutating func performed(_ number: Int) -> Connector.Entry? {
        isCarryingOut = false
        entries[number]?.pending -= 1
        guard let entry = entries[number], entry.isRetired, entry.pending == 0 else { return nil }
        return entries.removeValue(forKey: number)
    }
}

/// The part that one user has in a link.
final class LinkShare: Sendable {
    private let number: Int
    private let wasLast = Mutex<Bool?>(nil)

    /// - Parameter number: which of the links to the peripheral it is.
    init(_ number: Int) { self.number = number }

    /// Gives the part up, once.
    ///
    /// - Returns: whether it was the last one: the link is to be dropped. The same each time.
    func leave(_ peripheral: Peripheral) -> Bool {
        wasLast.withLock { wasLast in
            let answer = wasLast ?? peripheral.core.connector.leave(number, peripheral.address.rawValue)
            wasLast = answer
            return answer
        }
    }
}
