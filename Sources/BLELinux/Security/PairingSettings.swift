internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The adapter's settings that pairings need: on as long as the program pairs, and afterwards as they were.
///
/// All pairings of a radio, in either role, share one instance. A setting that another program switches off meanwhile
/// (such as one that had switched it on for its own pairing) is switched on again, a few times. What was switched on is
/// noted, so that the next program switches it off if this one is killed.
final class PairingSettings: Sendable {
    typealias Answer = @Sendable (ManagementFailure?) -> Void

    private struct State {
        var holders = 0
        /// The needed settings that this adapter supports.
        var needed: Set<PairingSwitch> = []
        /// The settings that were off and were switched on for this, with their notes.
        var switchedOn: [(setting: PairingSwitch, note: LeftoverNote?)] = []
        var observation: RadioActivity?
        var repairs = 0
        var lastRepair = Duration.zero
        /// The reading of the settings after a loss of events.
        var looking = OneAtATime()
    }

    /// How often a setting is switched on again: after that, a program that insists on the contrary prevails.
    static let mostRepairs = 8
    /// After so long without a repair they are counted anew: a server holds the settings for months.
    static let calm = Duration.seconds(60)

    private let management: ManagementSocket
    private let leftovers: Leftovers
    /// The adapter; `nil` while it is absent.
    private let facts: @Sendable () -> AdapterFacts?
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(
        management: ManagementSocket,
        leftovers: Leftovers,
        timeline: any Timeline,
        facts: @escaping @Sendable () -> AdapterFacts?
    ) {
        self.management = management
        self.leftovers = leftovers
        self.timeline = timeline
        self.facts = facts
    }

    /// Switches on what is off, and keeps it on until ``release(then:)``, which must be called whatever the answer.
    func hold(_ answer: @escaping Answer) {
        retain()
        guard let facts = facts() else { return prepare(answer) }
        leftovers.clear(of: facts, through: management) { [self] in prepare(answer) }
    }

    /// Leaves on what is on for pairings, until ``release(then:)``; switches nothing on itself.
    func retain() {
        let isFirst = state.withLock { state in
            state.holders += 1
            if state.holders == 1 { (state.repairs, state.needed) = (0, []) }
            return state.holders == 1
        }
        if isFirst { observe() }
    }

    /// Switches on what has been switched off meanwhile, for a pairing that already holds the settings.
    func prepare(_ answer: @escaping Answer) {
        management.submit(ManagementReadInformation()) { [self] information in
            switch information {
            case .failure(let failure): answer(failure)
            case .success(let information):
                state.withLock { $0.needed = Set(PairingSwitch.possible(in: information.supported)) }
                switchOn(PairingSwitch.missing(in: information)[...], answer)
            }
        }
    }

    /// Switches off what was off before, once nobody holds it any more.
    ///
    /// - Parameter done: called when the kernel has answered, or immediately if there is nothing to switch off.
    func release(then done: @escaping @Sendable () -> Void = {}) {
        let (observation, switchedOn) = state.withLock { state in
            state.holders -= 1
            guard state.holders == 0 else {
                return (nil as RadioActivity?, [(setting: PairingSwitch, note: LeftoverNote?)]())
            }
            defer { (state.observation, state.switchedOn) = (nil, []) }
            return (state.observation, state.switchedOn)
        }
        observation?.cancel()
        for (setting, note) in switchedOn.dropLast() { switchOff(setting, note) }
        guard let (setting, note) = switchedOn.last else { return done() }
        switchOff(setting, note, then: done)
    }

    /// Switches the settings on one after another.
    private func switchOn(_ settings: ArraySlice<PairingSwitch>, _ answer: @escaping Answer) {
        guard let next = settings.first, state.withLock({ $0.holders > 0 }) else { return answer(nil) }
        let note = facts().flatMap { leftovers.note(KernelThing(next.leftover, 0, of: $0)) }
        next.set(true, management) { [self] failure in
            // Without an answer the kernel may have switched it on.
            if failure?.status == nil { keep(next, note) } else { note?.forget() }
            if let failure, next == .bondable { return answer(failure) }
            switchOn(settings.dropFirst(), answer)
        }
    }

    /// A setting was switched on, even if it is no longer needed: it is switched off behind the last holder.
    func keep(_ setting: PairingSwitch, _ note: LeftoverNote?) {
        let isNeeded = state.withLock { state in
            guard state.holders > 0 else { return false }
            if !state.switchedOn.contains(where: { $0.setting == setting }) { state.switchedOn.append((setting, note)) }
            return true
        }
        if !isNeeded { switchOff(setting, note) }
    }

    private func switchOff(
        _ setting: PairingSwitch,
        _ note: LeftoverNote?,
        then done: @escaping @Sendable () -> Void = {}
    ) {
        setting.set(false, management) { failure in
            note?.forget(unless: failure)
            done()
        }
    }

    // MARK: - What other programs do

    private func observe() {
        let observation = management.observe { [weak self] events in
            for case .newSettings(let settings) in events.lazy.map(\.event) { self?.changed(to: settings) }
        } lost: { [weak self] _ in
            self?.look()
        }
        let isNeeded = state.withLock { state in
            if state.holders > 0 { state.observation = observation }
            return state.holders > 0
        }
        if !isNeeded { observation.cancel() }
    }

    /// Reads the settings, since another program's change may be among events that were lost; once at a time, however
    /// many are. The answer may be among them, too.
    private func look() {
        guard state.withLock({ $0.holders > 0 && $0.looking.begin() }) else { return }
        management.submit(ManagementReadInformation()) { [self] answer in
            if state.withLock({ $0.looking.end() }) { return look() }
            if case .success(let information) = answer { changed(to: information.current) }
        }
    }

    /// Another program has changed the settings: the kernel doesn't send a program the events of its own changes.
    private func changed(to settings: ManagementSettings) {
        let now = timeline.now
        let missing = state.withLock { state in
            let missing = state.needed.filter { !settings.contains($0.setting) }
            if now - state.lastRepair >= Self.calm { state.repairs = 0 }
            guard state.holders > 0, !missing.isEmpty, state.repairs < Self.mostRepairs else {
                return [PairingSwitch]()
            }
            state.repairs += 1
            state.lastRepair = now
            return Array(missing)
        }
        switchOn(missing[...]) { _ in }
    }
}
