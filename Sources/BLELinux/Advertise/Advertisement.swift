internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One advertisement of a program, kept on air as ``AdvertisementMachine`` says.
///
/// The kernel keeps an instance when the socket that made it is closed, suspends a connectable one while a central is
/// connected, and loses all of them when the adapter is switched off.
final class Advertisement: Sendable {
    private struct State: ~Copyable {
        var machine: AdvertisementMachine
        var timer: RadioActivity?
        var observation: RadioActivity?
        /// Reports that the adapter can no longer be used.
        var power: RadioActivity?
        /// Why it can't, while the kernel owes the answer by which it has an instance: that is removed with the answer.
        var unusable: AdapterInfo.State?
        /// The adapter that has the instance.
        var index: ManagementIndex?
        /// Whether the kernel has reported that it was removed, and has answered no command since.
        var isGone = false
        /// The callers that wait for a change to be on air.
        var changes: [@Sendable (Result<Void, BLEError>) -> Void] = []
        var isOver = false
    }

    private let adapter: LinuxAdapter
    private let watch: AdapterWatch
    private let management: ManagementSocket?
    private let loop: EventLoop
    private let timeline: any Timeline
    private let leftovers: Leftovers
    /// Tells a later run of a program that the instance belongs to this one.
    private let note: HeldNote
    private let sink: EventSink<AdvertiseEvent>
    private let state: Mutex<State>

    init(_ request: AdvertiseRequest, on radio: LinuxRadio, sink: EventSink<AdvertiseEvent>) {
        adapter = radio.adapter
        watch = radio.watch
        management = radio.management
        loop = radio.loop
        timeline = radio.timeline
        leftovers = radio.leftovers
        note = HeldNote(in: leftovers)
        self.sink = sink
        state = Mutex(State(machine: AdvertisementMachine(request)))
    }

    /// Starts, on the loop's thread.
    func begin() {
        let facts: AdapterFacts
        do throws(BLEError) {
            facts = try adapter.usable(for: "advertise", object: adapter.name)
        } catch {
            return finish(error)
        }
        guard let management else {
            return finish(adapter.missingAdministration(for: "advertise", object: adapter.name))
        }
        let removals = adapter.removals
        state.withLock { $0.index = ManagementIndex(rawValue: facts.number) }
        let observation = management.observe(
            { [weak self] events in for event in events { self?.received(event.event) } },
            lost: { [weak self] _ in self?.missedEvents(since: removals) }
        )
        // The kernel doesn't send a program the events of its own commands for the adapter's power.
        let power = watch.observe { [weak self, management] info in
            management.whenRead { [weak self] in self?.adapterIs(info.state) }
        }
        state.withLock { state in
            if state.isOver { return }
            state.observation = observation
            state.power = power
        }
        leftovers.clear(of: facts, through: management) { [self] in perform { $0.begin() } }
    }

    /// Changes what is advertised, on the loop's thread.
    func change(to request: AdvertiseRequest, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let outcome = state.withLock { state -> Result<AdvertisementMachine.Output, BLEError> in
            guard !state.isOver else { return .failure(.advertisingIsOver(adapter.name)) }
            do throws(AdvertisingFault) {
                let output = try state.machine.change(to: request)
                state.changes.append(result)
                return .success(output)
            } catch {
                return .failure(error.error(on: adapter.name))
            }
        }
        switch outcome {
        case .success(let output): carryOut(output)
        case .failure(let error): result(.failure(error))
        }
    }

    /// Ends the advertising; the kernel is told before this returns, unless it owes an answer.
    func cancel() {
        sink.close()
        end()
    }

    private func adapterIs(_ now: AdapterInfo.State) {
        let isUnusable =
            switch now {
            case .poweredOff, .blocked, .absent: true
            case .poweredOn, .unauthorized, .unsupported, .unknown, .resetting: false
            }
        let endsNow = state.withLock { state in
            state.unusable = isUnusable ? now : nil
            return isUnusable && !state.machine.awaitsInstance
        }
        if endsNow { finish(adapter.whyUnusable(for: "advertise", object: adapter.name, told: now)) }
    }

    private func received(_ event: ManagementEvent) {
        switch event {
        case .newSettings(let settings) where !settings.contains(.powered):
            // That it was removed may be told next: then it may be there again, with another program's instance.
            management?.whenRead { [weak self] in self?.wentOff() }
        case .indexRemoved, .extendedIndexRemoved:
            state.withLock { $0.isGone = true }
            finish(adapter.whyUnusable(for: "advertise", object: adapter.name, told: .absent))
        case .deviceConnected(let connected) where !adapter.hasMade(connected):
            // A link of Bluetooth Classic doesn't affect an advertisement.
            if let central = connected.address.lowEnergy { perform { $0.centralCame(central) } }
        case .newIdentityResolvingKey(let new):
            guard let identity = new.key.address.lowEnergy else { break }
            perform { $0.renamed(new.privateAddress, to: identity) }
        case .deviceDisconnected(let address, _):
            if let peer = address.lowEnergy { perform { $0.linkEnded(peer) } }
        case .advertisingAdded(let instance):
            perform { $0.appeared(instance) }
        // An adapter that is being switched off removes them too, and reports that next.
        case .advertisingRemoved(let instance) where adapter.isUp:
            perform { $0.removed(instance) }
        default:
            break
        }
    }

    private func wentOff() {
        if state.withLock({ $0.isOver }) { return }
        finish(adapter.whyUnusable(for: "advertise", object: adapter.name, told: .poweredOff))
    }

    /// Some of the kernel's events were lost.
    ///
    /// - Parameter removals: how often the adapter had been removed when the advertising began.
    private func missedEvents(since removals: Int) {
        // With the instance, the kernel has forgotten keys and settings, which only another start brings back.
        guard adapter.removals == removals else {
            state.withLock { $0.isGone = true }
            return finish(adapter.whyUnusable(for: "advertise", object: adapter.name, told: .absent))
        }
        let isLinked = adapter.isLinked
        perform { $0.missedEvents(isLinked: isLinked) }
    }

    private func finish(_ error: BLEError) {
        end(error)
        sink.finish(.failed(error))
    }

    private func end(_ error: BLEError? = nil) {
        let (output, observation, power) = state.withLock { state in
            let output = state.machine.cancel()
            state.isOver = true
            return (output, state.observation.take(), state.power.take())
        }
        observation?.cancel()
        power?.cancel()
        carryOut(output)
        tellChanges(.failure(error ?? .advertisingIsOver(adapter.name)))
    }

    private func tellChanges(_ outcome: Result<Void, BLEError>) {
        let changes = state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
        for result in changes { result(outcome) }
    }
}

// MARK: - The machine's driver

extension Advertisement {
    private func perform(_ input: (inout AdvertisementMachine) -> AdvertisementMachine.Output) {
        carryOut(state.withLock { input(&$0.machine) })
    }

    private func carryOut(_ output: AdvertisementMachine.Output) {
        switch output.timer {
        case .start(let delay):
            let timer = timeline.schedule(after: delay) { [weak self, loop] in
                loop.enqueue { [weak self] in self?.perform { $0.timerFired() } }
            }
            state.withLock { if !$0.isOver { $0.timer = timer } }
        case .cancel: state.withLock { $0.timer.take() }?.cancel()
        case nil: break
        }
        switch output.command {
        case .readFeatures:
            submit(ManagementReadAdvertisingFeatures()) { [self] answer in
                perform { $0.featuresRead(answer) }
            }
        case .claim(let numbers): claim(numbers)
        case .add(let instance, let payload): add(instance, payload)
        case .replace(let instance, let payload): replace(instance, payload)
        case .remove(let instance): remove(instance)
        case nil: break
        }
        forgetWhatIsGone()
        switch output.change {
        case .made: tellChanges(.success(()))
        case .refused(let failure): tellChanges(.failure(error(.management(failure))))
        case nil: break
        }
        switch output.report {
        case .started: sink.send(.started)
        case .failed(let failure): finish(error(failure))
        case nil: break
        }
    }

    private func add(_ instance: UInt8, _ payload: AdvertisingPayload) {
        // The answers are awaited even after a cancellation: an instance that they report is removed.
        guard let interval = payload.interval else {
            let command = ManagementAddAdvertising(
                instance: instance,
                flags: payload.flags,
                data: payload.data,
                scanResponse: payload.scanResponse
            )
            submit(command) { [self] in added($0.failure) }
            return
        }
        // The older command has no interval; the newer one has two parts, the first of which puts nothing on air.
        let parameters = ManagementAddExtendedAdvertisingParameters(
            instance: instance,
            flags: payload.flags.union(
                payload.scanResponse.bytes.isEmpty ? .hasIntervals : [.hasIntervals, .hasScanResponse]
            ),
            minimumInterval: interval.lowerBound,
            maximumInterval: interval.upperBound
        )
        let data = ManagementAddExtendedAdvertisingData(
            instance: instance,
            data: payload.data,
            scanResponse: payload.scanResponse
        )
        submit(parameters) { [self] answer in
            if let failure = answer.failure { return added(failure) }
            submit(data) { [self] in added($0.failure) }
        }
    }

    /// Adds an instance when the one with its number is gone. The kernel changes an instance at once, and removes it in
    /// its turn: what is added before the answer goes with it. Source: kernel, `net/bluetooth/mgmt.c`,
    /// `add_advertising`, `remove_advertising`.
    private func replace(_ instance: UInt8, _ payload: AdvertisingPayload) {
        submit(ManagementRemoveAdvertising(instance: instance)) { [self] answer in
            // One that another program has removed meanwhile is gone, too.
            let failure = answer.failure?.status == .invalidParameters ? nil : answer.failure
            if failure != nil || state.withLock({ $0.isOver }) { added(failure) } else { add(instance, payload) }
        }
    }

    /// Sends a command for the adapter on which the advertising began: the parts of an addition belong to one adapter,
    /// also if a query between them has not found it.
    ///
    /// A command that is carried out after the report of a removal was carried out by an adapter that is there again:
    /// what it has put there is still to be removed.
    private func submit<Command: ManagementCommand>(
        _ command: Command,
        answer: @escaping @Sendable (Result<Command.Response, ManagementFailure>) -> Void
    ) {
        management?.submit(command, index: state.withLock { $0.index }) { [self] outcome in
            if case .success = outcome { state.withLock { $0.isGone = false } }
            answer(outcome)
        }
    }

    private func added(_ failure: ManagementFailure?) {
        let isLinked = failure != nil && adapter.isLinked
        let kept = failure.flatMap { failure in state.withLock { $0.machine.instance(keptAfter: failure) } }
        if let kept { remove(kept) }
        perform { $0.added(failure, isLinked: isLinked) }
        if let told = state.withLock({ $0.isOver ? nil : $0.unusable }) { adapterIs(told) }
    }

    private func remove(_ instance: UInt8) {
        // A query that fails at this moment is no reason to leave the instance where it is. An adapter that is there
        // again may have another program's under this number.
        guard let index = state.withLock({ $0.isGone ? nil : $0.index }) else { return }
        management?.undo(ManagementRemoveAdvertising(instance: instance), index: index) { [self] in
            if let facts = adapter.facts { note.leave(KernelThing(.advertisement, UInt16(instance), of: facts)) }
        }
        // The note is removed now, unless the answer to another command is awaited: when this command's answer comes,
        // the program may have ended, and the number may belong to another program.
    }

    /// Takes a number that no other program of this library has, and notes the owner before the kernel has the
    /// instance.
    private func claim(_ numbers: [UInt8]) {
        let number = adapter.facts.flatMap { facts in
            numbers.first { note.hold(KernelThing(.advertisement, UInt16($0), of: facts)) }
        }
        perform { $0.claimed(number) }
    }

    /// Removes the note of an instance that other programs have removed.
    private func forgetWhatIsGone() {
        note.forget(unless: state.withLock { $0.machine.instance }.map(UInt16.init))
    }

    private func error(_ failure: AdvertisementMachine.Failure) -> BLEError {
        switch failure {
        case .management(let failure):
            refusalBesideLink(failure) ?? failure.error(operation: "advertise", object: adapter.name, adapter: adapter)
        case .unfit(let fault): fault.error(on: adapter.name)
        case .noFreeInstance(let maximum): .noFreeInstance(maximum, adapter.name)
        case .takenAway(let times): .advertisementTakenAway(times, adapter.name)
        }
    }

    /// Many controllers can't advertise beside a link, in either role. That passes: a server that resumes keeps its
    /// centrals meanwhile, and tries again.
    private func refusalBesideLink(_ failure: ManagementFailure) -> BLEError? {
        guard failure.mayBeForLink else { return nil }
        let peers = adapter.peers
        return peers.isEmpty ? nil : .advertisementBesideLink(to: peers, adapter.name)
    }
}

extension ManagementFailure {
    /// Whether the kernel answers so for a controller that can't advertise beside a link: with invalid parameters, or
    /// with a rejection where the controller has extended advertising. Source: kernel, `net/bluetooth/hci_sync.c`,
    /// `hci_enable_advertising_sync`, `hci_setup_ext_adv_instance_sync`.
    var mayBeForLink: Bool { status == .invalidParameters || status == .rejected }
}
