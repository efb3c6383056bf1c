import BLEProtocol
import BLERadio

@testable import BLEStreams

/// A ``ConnectMachine``, those who want its link, and a radio that answers when it likes: no link, no task, a clock
/// that is a number. What happens next is drawn from a seed.
///
/// It plays the driver to the letter: it begins what it is told to begin, once the step before is over or taken back,
/// and notes each breach of that in ``breaches``.
struct ConnectWorld {
    /// What became of one who wants a link.
    struct Fate {
        let waiter: ConnectMachine.Waiter
        let joined: Duration
        var outcomes: [ConnectMachine.Output.Outcome] = []
        var hasLeft = false

        var isWaiting: Bool { !hasLeft && outcomes.isEmpty }
    }

    var machine: ConnectMachine
    var chance: Chance
    var now = Duration.zero
    var fates: [Fate] = []
    /// The step that has begun, and is neither over nor taken back.
    var underWay: ConnectMachine.Output.Begin?
    /// What has begun before, for reports that come late.
    var past: [ConnectMachine.Output.Begin] = []
    /// The number under which the radio's turn was asked for, or is had.
    var turn: Int?
    var alarm: Duration?
    /// Whether it is watched whether the adapter hears anybody.
    var isWatched = false
    var told: Peripheral.ConnectionState?
    var isPaused = false
    var isAdapterAway = false
    var links = 0
    var breaches: [String] = []

    static let addresses = [
        BluetoothAddress(rawValue: 0xC0_DE00_0000_01, kind: .public),
        BluetoothAddress(rawValue: 0xC0_DE00_0000_01, kind: .random),
    ]

    init(seed: UInt64) {
        chance = Chance(seed: seed)
        machine = ConnectMachine(seed % 2 == 0 ? Self.addresses : [Self.addresses[0]])
    }

    var isDone: Bool { machine.isLinked || machine.isOver }

    // MARK: - The driver

    mutating func step(_ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        guard !isDone else { return }
        var output = ConnectMachine.Output()
        body(&machine, &output)
        carryOut(output)
        if (machine.step == nil) != (underWay == nil) { breach("the radio is not at \(machine.step as Any)") }
        if machine.turn != turn { breach("the turn and the machine differ") }
        if !machine.waiters.isEmpty, alarm == nil, !isDone { breach("nobody looks at those who wait") }
        // An attempt that begins amid a pause is paused at once.
        if output.tries, isPaused { step { $0.pause(&$1) } }
    }

    private mutating func breach(_ what: String) { breaches.append("\(now): \(what)") }

    private mutating func carryOut(_ output: ConnectMachine.Output) {
        if output.tries {
            if isWatched { breach("it is watched twice") }
            isWatched = true
        }
        if output.stops {
            if underWay == nil { breach("nothing is under way, and it is taken back") }
            // A link that is closed tells its own end.
            if case .settle? = underWay?.step { told = .disconnected(nil) }
            underWay = nil
        }
        if output.leavesTurn {
            if turn == nil { breach("a turn is left that nobody has") }
            turn = nil
        }
        switch output.alarm {
        case .set(let deadline)?: alarm = deadline
        case .cancel?: alarm = nil
        case nil: break
        }
        if output.ends != nil {
            if !isWatched { breach("what was never begun ends") }
            isWatched = false
        }
        if let state = output.tells { tell(state) }
        for answer in output.answers { take(answer) }
        guard let begin = output.begins else { return }
        if underWay != nil { breach("\(begin.step) begins beside another step") }
        underWay = begin
        past.append(begin)
        if begin.step == .lineUp { turn = begin.number }
    }

    private mutating func tell(_ state: Peripheral.ConnectionState) {
        switch (told, state) {
        case (.connecting?, .connecting), (nil, .disconnected), (.disconnected?, .disconnected):
            breach("\(state) is told behind \(told as Any)")
        case (.connecting?, _), (_, .connecting): break
        default: breach("\(state) is told behind \(told as Any)")
        }
        told = state
    }

    private mutating func take(_ answer: ConnectMachine.Output.Answer) {
        guard fates.indices.contains(answer.waiter) else { return breach("nobody is answered") }
        if !fates[answer.waiter].isWaiting { breach("one who waits no more is told \(answer.outcome)") }
        fates[answer.waiter].outcomes.append(answer.outcome)
        let fate = fates[answer.waiter]
        if case .timedOut = answer.outcome, fate.waiter.deadline > now {
            breach("one is told too early that time is over")
        }
        if answer.outcome == .failed, isAdapterAway, let limit = fate.waiter.adapterLimit, now < fate.joined + limit {
            breach("one who waits for the adapter was told after \(now - fate.joined) that it is away")
        }
    }
}

extension ConnectMachine.Waiter {
    /// For how long it waits for an adapter at least, where it does so beyond its own limit.
    var adapterLimit: Duration? { if case .upTo(let limit) = patience { limit } else { nil } }
}

// MARK: - What can happen

extension ConnectWorld {
    /// One more wants the link.
    mutating func join(persists: Bool = true, timeout: Duration, patience: ConnectMachine.Patience = .none) {
        guard !isDone else { return }
        let waiter = ConnectMachine.Waiter(
            id: fates.count,
            timeout: timeout,
            deadline: now + timeout,
            persists: persists,
            patience: patience
        )
        fates.append(Fate(waiter: waiter, joined: now))
        step { [now] machine, output in machine.join(waiter, now: now, &output) }
    }

    mutating func leave(_ index: Int) {
        guard !isDone, fates.indices.contains(index), fates[index].isWaiting else { return }
        fates[index].hasLeft = true
        step { machine, output in machine.leave(index, &output) }
    }

    /// Time passes until those who wait are looked at, or half of that.
    mutating func pass(whole: Bool) {
        guard let alarm else { return }
        now = whole ? max(now, alarm) : now + (max(now, alarm) - now) / 2
        if whole { ring() }
    }

    private mutating func ring() {
        alarm = nil
        step { [now] machine, output in machine.alarmRang(now: now, &output) }
    }

    /// The adapter is about to be switched off and on, which is told to the attempts under way.
    mutating func pause() {
        isPaused = true
        if isWatched { step { $0.pause(&$1) } }
    }

    mutating func resume() {
        isPaused = false
        if isWatched { step { $0.resume(&$1) } }
    }

    /// What is under way has come to its end, well.
    mutating func succeed() {
        guard let begun = underWay else { return }
        let number = begun.number
        // The driver takes back nothing of a step that has ended by itself.
        switch begun.step {
        case .waitUntilDown: finish { $0.isDown(number, &$1) }
        case .recall:
            let draw = chance.next()
            let identity = BluetoothAddress(rawValue: 0xC0_DE00_0000_02, kind: .public)
            finish { machine, output in
                machine.recalled(
                    number,
                    identities: draw % 4 == 0 ? [Self.addresses[0]: identity] : [:],
                    isBonded: draw & 0x100 != 0,
                    hasLink: draw & 0x200 != 0,
                    &output
                )
            }
        case .restoreKeys:
            let hasKeys = chance.below(3) > 0
            finish { $0.keysRestored(number, hasKeys: hasKeys, &$1) }
        case .lineUp: finish { $0.granted(number, &$1) }
        case .listen(let addresses, _):
            guard let address = addresses.first else { return }
            step { $0.heard(number, address, &$1) }
        case .connect:
            finish { machine, output in _ = machine.connected(number, &output) }
            links += 1
        case .settle:
            finish { $0.settled(number, &$1) }
        case .waitForEnd:
            finish { $0.linkIsDown(number, &$1) }
        case .pause, .rest: passLimit()
        case .waitForAdapter:
            isAdapterAway = false
            step { [now] machine, output in machine.adapterReturned(number, now: now, &output) }
        }
    }

    /// The limit of the step under way has passed.
    mutating func passLimit() {
        guard let begun = underWay else { return }
        switch begun.step {
        case .pause, .rest: finish { $0.limitPassed(begun.number, &$1) }
        case .listen, .connect(_, _?): step { $0.limitPassed(begun.number, &$1) }
        default: break
        }
    }

    /// The radio has failed, or the link while it settled.
    mutating func fail() {
        guard let begun = underWay else { return }
        let wasUp: Bool
        switch begun.step {
        case .connect: wasUp = false
        case .settle: wasUp = true
        default: return
        }
        let draw = chance.below(5)
        isAdapterAway = draw == 0
        var error = BLEError(draw < 3 ? .connectionFailed : .disconnected, operation: "connect", cause: "it failed")
        error.reason = DisconnectReason(
            [.adapterOff, .failedToEstablish, .failedToEstablish, .closedByPeer, .other][draw]
        )
        let failure = ConnectMachine.Failure(
            pace: ConnectPace.Failure(error, wasHeard: draw == 4, wasResumed: draw == 3),
            isOfAdapter: isAdapterAway,
            reason: error.reason
        )
        let random = chance.next()
        // A link tells its own end.
        if wasUp, told == .connecting { told = .disconnected(error.reason) }
        finish { [now] machine, output in
            machine.failed(begun.number, failure, random: random, now: now, &output)
        }
    }

    /// Somebody else is to have the radio.
    mutating func revoke() {
        guard let turn, case .connect? = underWay?.step else { return }
        step { $0.revoked(turn, &$1) }
    }

    /// What is over reports all the same.
    mutating func reportLate() {
        guard !isDone, let old = past.randomElement(using: &chance), old.number != underWay?.number else { return }
        let number = old.number
        let random = chance.next()
        let before = machine
        var output = ConnectMachine.Output()
        machine.isDown(number, &output)
        machine.recalled(number, identities: [:], isBonded: true, hasLink: true, &output)
        machine.keysRestored(number, hasKeys: true, &output)
        machine.heard(number, Self.addresses[0], &output)
        machine.listened(number, &output)
        machine.limitPassed(number, &output)
        if machine.connected(number, &output) { breaches.append("a link that comes too late is taken") }
        machine.settled(number, &output)
        machine.linkIsDown(number, &output)
        machine.adapterReturned(number, now: now, &output)
        let failure = ConnectMachine.Failure(
            pace: ConnectPace.Failure(
                BLEError(.connectionFailed, operation: "connect", cause: "it failed"),
                wasHeard: false,
                wasResumed: false
            )
        )
        machine.failed(number, failure, random: random, now: now, &output)
        if number != turn {
            machine.granted(number, &output)
            machine.revoked(number, &output)
        }
        if machine != before || !output.isEmpty { breaches.append("a late report of \(old.step) changes something") }
    }

    private mutating func finish(_ body: (inout ConnectMachine, inout ConnectMachine.Output) -> Void) {
        guard !isDone else { return }
        underWay = nil
        step(body)
    }
}
