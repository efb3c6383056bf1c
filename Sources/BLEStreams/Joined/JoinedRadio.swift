import BLEProtocol
import BLERadio
import Synchronization

/// Several radios as one: ``AdapterChoice/joined(_:)`` says which of them does what.
///
/// Each member has its own scan, which all its listeners share, and is watched for the lifetime of this object.
final class JoinedRadio: Sendable {
    /// One of the radios. The numbers are the order in which they were joined.
    struct Member: Sendable {
        let id: AdapterChooser.AdapterID
        let radio: any Radio
        let scans: ScanBroker
    }

    /// What the common adapter is after so many changes. Each member reports on a thread of its own, and what is told
    /// by one may be overtaken by another.
    private struct News: Sendable {
        let number: Int
        let info: AdapterInfo
    }

    private struct State {
        var members: [Member] = []
        /// The last known information on the members.
        var infos: [AdapterChooser.AdapterID: AdapterInfo] = [:]
        var chooser = AdapterChooser()
        /// The members that have none of the keys that were loaded before they came, or were absent.
        var keyless: Set<AdapterChooser.AdapterID> = []
        var observers = Observers<SerialSink<News>>()
        var changes = 0
        /// Called after each change of a member, also where the common adapter stays as it is.
        var memberWatchers = Observers<@Sendable () -> Void>()
        var symptomObservers = Observers<(sink: SerialSink<AdapterInfo.Symptom>, activities: [RadioActivity])>()
        var scan: JoinedScan?
        /// The attempts to connect, by the octets of the peers' addresses.
        var attempts: Set<UInt64> = []
        var links: [UInt64: AdapterChooser.AdapterID] = [:]
        /// The members that listen, the first one before those that it makes fail.
        var listeners = Observers<Member>()
        /// The activities that report the members' changes.
        var sources: [RadioActivity] = []
        /// How the members recover; `nil` until it is set.
        var recovery: Recovery?
        var recoveries: [(id: AdapterChooser.AdapterID, driver: RecoveryDriver)] = []
        /// The attempts that are told of drivers which come later.
        var followers = Observers<@Sendable (AdapterChooser.AdapterID, RecoveryDriver) -> Void>()
        var troubleWatchers = Observers<@Sendable (AdapterTrouble) -> Void>()
    }

    let timeline: any Timeline
    private let state = Mutex(State())

    /// Joins radios that have the same clock.
    ///
    /// - Parameter roster: reports radios that appear later, until the returned activity is cancelled.
    init(
        _ radios: [any Radio],
        timeline: any Timeline,
        roster: (@Sendable (@escaping @Sendable (any Radio) -> Void) -> RadioActivity)? = nil
    ) {
        self.timeline = timeline
        for radio in radios { add(radio) }
        guard let roster else { return }
        let source = roster { [weak self] in self?.add($0) }
        state.withLock { $0.sources.append(source) }
    }

    /// Adds a radio after the others.
    private func add(_ radio: any Radio) {
        let info = radio.adapterInfo
        if info.state.takesKeys { giveKeys(to: radio) }
        // Either the plan is there already, or whoever brings it finds the member.
        let (member, recovery, tell) = state.withLock { state in
            let before = Self.merged(state)
            let member = Member(id: state.members.count, radio: radio, scans: ScanBroker(radio: radio))
            state.members.append(member)
            state.infos[member.id] = info
            state.chooser.isNow(info, member.id)
            if !info.state.takesKeys { state.keyless.insert(member.id) }
            return (member, state.recovery, Self.teller(&state, since: before))
        }
        let adapter = radio.observeAdapter { [weak self] in self?.member(member, isNow: $0) }
        let hearing = member.scans.watch(
            ScanBroker.Watcher(
                started: {},
                heard: { [weak self] reports in self?.heard(reports, by: member.id) },
                stopped: {}
            )
        )
        let (scan, symptoms) = state.withLock { state in
            state.sources += [adapter, RadioActivity(onCancel: hearing)]
            return (state.scan, state.symptomObservers.numbered.map { ($0.id, $0.observer.sink) })
        }
        if let recovery { recover(member, by: recovery) }
        scan?.begin(on: member)
        for (id, sink) in symptoms {
            let activity = radio.observeSymptoms { sink.send($0) }
            state.withLock { $0.symptomObservers[id]?.activities.append(activity) }
        }
        // One that is on already reports no change itself.
        tell()
    }

    private func member(_ member: Member, isNow info: AdapterInfo) {
        // Before it can be chosen.
        let lacksKeys = state.withLock { state in
            if info.state == .absent { state.keyless.insert(member.id) }
            return info.state.takesKeys && state.keyless.remove(member.id) != nil
        }
        if lacksKeys { giveKeys(to: member.radio) }
        let (scan, tell) = state.withLock { state in
            let before = Self.merged(state)
            let wasOn = state.infos[member.id]?.state == .poweredOn
            state.infos[member.id] = info
            state.chooser.isNow(info, member.id)
            let isBack = info.state == .poweredOn && !wasOn
            return (isBack ? state.scan : nil, Self.teller(&state, since: before))
        }
        tell()
        scan?.begin(on: member)
    }

    /// Counts a change of the common adapter, if there was one; the returned closure tells the observers of it, and the
    /// watchers of members.
    private static func teller(_ state: inout State, since before: AdapterInfo) -> @Sendable () -> Void {
        let (now, watchers) = (merged(state), state.memberWatchers.all)
        guard now != before else { return { for changed in watchers { changed() } } }
        state.changes += 1
        let (news, observers) = (News(number: state.changes, info: now), state.observers.all)
        return {
            for observer in observers { observer.send(news) }
            for changed in watchers { changed() }
        }
    }

    // MARK: - The common adapter

    var members: [Member] { state.withLock { $0.members } }

    func member(_ id: AdapterChooser.AdapterID) -> Member { state.withLock { $0.members[id] } }

    /// What a member's adapter is now, as far as it has told.
    func info(of id: AdapterChooser.AdapterID) -> AdapterInfo? { state.withLock { $0.infos[id] } }

    /// The name of a member's adapter now.
    func name(of id: AdapterChooser.AdapterID) -> String { info(of: id)?.name ?? "" }

    var adapterInfo: AdapterInfo { state.withLock { Self.merged($0) } }

    /// It is on if one of them is; otherwise it has the state that is nearest to that.
    private static func merged(_ state: State) -> AdapterInfo {
        let infos = state.members.compactMap { state.infos[$0.id] }
        let merged = AdapterInfo.State.nearest(of: infos.map(\.state))
        let name = infos.isEmpty ? "no adapter" : infos.map(\.name).joined(separator: "+")
        return AdapterInfo(name: name, address: nil, state: merged ?? .absent)
    }

    /// The first adapter that is on, otherwise the first one: it does what only one can do.
    var first: Member? {
        state.withLock { state in
            state.members.first { state.infos[$0.id]?.state == .poweredOn } ?? state.members.first
        }
    }

    /// The one that listens, otherwise the first: centrals must find the adapter that accepts them, also if another
    /// one is switched on while a server begins.
    var serving: Member? { state.withLock { $0.listeners.all.first } ?? first }

    /// Makes the serving member listen until the closure is called; `nil` if there is none.
    func beginListening() -> (member: Member, end: @Sendable () -> Void)? {
        guard let member = serving else { return nil }
        let id = state.withLock { $0.listeners.add(member) }
        return (member, { [weak self] in _ = self?.state.withLock { $0.listeners.remove(id) } })
    }

    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        let last = Mutex(-1)
        let sink = SerialSink<News> { news in
            let isLater = last.withLock { last in
                guard news.number > last else { return false }
                last = news.number
                return true
            }
            if isLater { events(news.info) }
        }
        // Not in this call, and the present state before any change.
        let first = timeline.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            let now = state.withLock { state in
                if sink.isOpen { _ = state.observers.add(sink) }
                return News(number: state.changes, info: Self.merged(state))
            }
            sink.send(now)
        }
        return RadioActivity { [weak self] in
            first.cancel()
            sink.close()
            _ = self?.state.withLock { $0.observers.removeAll { $0 === sink } }
        }
    }

    /// Calls the closure after each change of a member, or of what it may do, until the returned closure is called.
    func watchMembers(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.memberWatchers.add(changed) }
        return { [weak self] in _ = self?.state.withLock { $0.memberWatchers.remove(id) } }
    }

    func tellMemberWatchers() { for changed in state.withLock({ $0.memberWatchers.all }) { changed() } }

    func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        let sink = SerialSink(events)
        let (id, members) = state.withLock { state in
            (state.symptomObservers.add((sink, [])), state.members)
        }
        for member in members {
            let activity = member.radio.observeSymptoms { sink.send($0) }
            state.withLock { $0.symptomObservers[id]?.activities.append(activity) }
        }
        return RadioActivity { [weak self] in
            sink.close()
            let activities = self?.state.withLock { $0.symptomObservers.remove(id)?.activities }
            for activity in activities ?? [] { activity.cancel() }
        }
    }

    // MARK: - Recovery

    /// The recovery plan, and the identities behind private addresses.
    struct Recovery: Sendable {
        let plan: RecoveryPlan
        let identity: @Sendable (BluetoothAddress) -> BluetoothAddress
    }

    /// Stores the plan, once; returns the members that follow it.
    func begin(_ recovery: Recovery) -> [Member] {
        state.withLock { state in
            guard state.recovery == nil else { return [] }
            state.recovery = recovery
            return state.members
        }
    }

    func keep(_ recovery: RecoveryDriver, of member: AdapterChooser.AdapterID, _ source: RadioActivity) {
        let followers = state.withLock { state in
            state.recoveries.append((member, recovery))
            state.sources.append(source)
            return state.followers.all
        }
        for follow in followers { follow(member, recovery) }
    }

    /// Calls the closure with each driver, those of members that come later too, until the returned closure is called.
    func followRecoveries(
        _ follow: @escaping @Sendable (AdapterChooser.AdapterID, RecoveryDriver) -> Void
    ) -> @Sendable () -> Void {
        let (id, present) = state.withLock { state in (state.followers.add(follow), state.recoveries) }
        for (member, driver) in present { follow(member, driver) }
        return { [weak self] in _ = self?.state.withLock { $0.followers.remove(id) } }
    }

    /// The drivers that recover the members.
    var recoveryDrivers: [(id: AdapterChooser.AdapterID, driver: RecoveryDriver)] { state.withLock { $0.recoveries } }

    func tell(_ trouble: AdapterTrouble) {
        let watchers = state.withLock { $0.troubleWatchers.all }
        for watcher in watchers { watcher(trouble) }
    }

    /// Reports the troubles of all of them until the returned closure is called.
    func watchTroubles(_ events: @escaping @Sendable (AdapterTrouble) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.troubleWatchers.add(events) }
        return { [weak self] in _ = self?.state.withLock { $0.troubleWatchers.remove(id) } }
    }

    // MARK: - Reports of its parts

    /// Makes this scan the present one; `false` if there is one already.
    func begin(_ scan: JoinedScan) -> Bool {
        state.withLock { state in
            guard state.scan == nil else { return false }
            state.scan = scan
            return true
        }
    }

    func end(_ scan: JoinedScan) {
        let former = state.withLock { state -> JoinedScan? in
            guard state.scan === scan else { return nil }
            return state.scan.take()
        }
        withExtendedLifetime(former) {}
    }

    /// Records an attempt to connect; `false` if there is one already, or a link.
    func begin(attemptTo peer: BluetoothAddress) -> Bool {
        state.withLock { state in
            state.links[peer.rawValue] == nil && state.attempts.insert(peer.rawValue).inserted
        }
    }

    func end(attemptTo peer: BluetoothAddress) {
        state.withLock { _ = $0.attempts.remove(peer.rawValue) }
    }

    /// The member that has the link to a peer.
    func holder(ofLinkTo peer: BluetoothAddress) -> Member? {
        state.withLock { state in state.links[peer.rawValue].map { state.members[$0] } }
    }

    /// The same for a peer that may be named by a private address: the link is to its identity where that is known.
    func holder(ofLinkToWhoeverIs peer: BluetoothAddress) -> Member? {
        if let holder = holder(ofLinkTo: peer) { return holder }
        let recovery = state.withLock { $0.recovery }
        return recovery.flatMap { holder(ofLinkTo: $0.identity(peer)) }
    }

    func linked(to peer: BluetoothAddress, by adapter: AdapterChooser.AdapterID) {
        let now = timeline.now
        state.withLock { state in
            state.links[peer.rawValue] = adapter
            state.chooser.linked(to: peer, by: adapter, at: now)
        }
    }

    func unlinked(from peer: BluetoothAddress, by adapter: AdapterChooser.AdapterID) {
        state.withLock { state in
            if state.links[peer.rawValue] == adapter { state.links[peer.rawValue] = nil }
            state.chooser.unlinked(adapter)
        }
    }

    func heard(_ reports: [AdvertisingReport], by adapter: AdapterChooser.AdapterID) {
        let now = timeline.now
        state.withLock { state in
            for report in reports { state.chooser.heard(report.address, report.rssi, by: adapter, at: now) }
        }
    }

    /// Queries or updates the chooser.
    func choose<Answer: Sendable>(_ body: @Sendable (inout AdapterChooser, _ now: Duration) -> Answer) -> Answer {
        let now = timeline.now
        return state.withLock { body(&$0.chooser, now) }
    }
}
