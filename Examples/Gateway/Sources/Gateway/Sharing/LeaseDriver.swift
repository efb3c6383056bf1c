import BLERadio
import BLEStreams
@preconcurrency import Dispatch
import Foundation
import Leases
import MQTT
import Synchronization

/// Drives the machine of the leases: gives it what the broker, the radio, the disk and the clock say, and does what
/// comes out. LEASES.md explains the rules.
///
/// A lease that ends takes its link with it: what the machine publishes about the peripheral from then on waits until
/// the link is down, so another gateway learns of a release only when it can connect.
final class LeaseDriver: Sendable {
    struct State {
        var machine: LeaseMachine
        var counts = LeaseCounts()

        // The broker.
        /// The connection that is being made, or is there.
        var session = SessionID(rawValue: 0)
        /// Connections that are over. Their wills say the same, unless the broker forgets them.
        var gone: SessionID?
        var changes: [MQTTSubscriptionChange] = []
        var publications: [Publication] = []
        /// The records that the broker hasn't acknowledged, by their tokens.
        var records: [UInt64: (peripheral: PeripheralID, mark: Mark)] = [:]
        var tokens: UInt64 = 0
        var isConnected = false
        var refusals = Refusals()
        /// Whether what is published comes back.
        var echo = Echo()

        // The radio.
        /// The peripherals of the configuration, by each address that they may have, and by name.
        var byAddress: [BluetoothAddress: Configuration.Peripheral] = [:]
        var byName: [String: Configuration.Peripheral] = [:]
        var addresses: [PeripheralID: BluetoothAddress] = [:]
        /// The names by which those were found that the configuration names.
        var names: [PeripheralID: String] = [:]
        var strengths: [PeripheralID: Int] = [:]
        var held: [PeripheralID: Epoch] = [:]
        /// Peripherals for which a job is running.
        var working: Set<PeripheralID> = []
        /// Of those, the ones whose job has to end.
        var parting: Set<PeripheralID> = []

        // The clock.
        var alarms: [LeaseTimer: Milliseconds] = [:]
        /// Whether alarms are being handled: the timer is set again afterwards.
        var isRinging = false
        /// The timer for the next of them.
        var timer: (activity: RadioActivity, rings: Milliseconds)?
    }

    /// What waits to be published.
    struct Publication {
        /// The peripheral that it is about.
        var peripheral: PeripheralID?
        /// The name of the record that it is.
        var mark: Mark?
        var message: MQTTMessage
    }

    /// What is left to do outside the lock.
    struct Aftermath {
        var store: UInt64?
        var hasChanged = false
    }

    let settings: Configuration.Sharing
    let topics: LeaseTopics
    let gateway: GatewayID
    let report: @Sendable (String) -> Void
    let state: Mutex<State>
    private let store: EpochStore
    /// The reservation can't be stored, which is tried every half a minute.
    private let storing: LastingError
    private let client = Mutex<MQTTClient?>(nil)
    let disk = DispatchQueue(label: "leases: disk")
    let clock = DispatchQueue(label: "leases: clock")
    private let changed: AsyncStream<Void>.Continuation

    /// Says that ``tenures`` may have changed; for one consumer.
    let changes: AsyncStream<Void>

    /// Whether there was no file with the identifier of this gateway.
    var isNew: Bool { store.isNew }

    init(
        _ settings: Configuration.Sharing,
        spool: String,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        self.settings = settings
        self.report = report
        storing = LastingError(report)
        store = try EpochStore(beside: spool, configured: settings.gateway)
        gateway = store.gateway
        topics = LeaseTopics(prefix: settings.prefix)
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        let machine = LeaseMachine(
            gateway: store.gateway,
            stored: store.reserved,
            seed: .random(in: 0 ... .max),
            terms: settings.terms
        )
        state = Mutex(State(machine: machine))
    }

    /// The client in use.
    func use(_ client: MQTTClient) { self.client.withLock { $0 = client } }

    // MARK: - The machine

    /// Milliseconds of a clock that goes on while the machine sleeps.
    static var now: Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Milliseconds(time.tv_sec) * 1000 + Milliseconds(time.tv_nsec) / 1_000_000
    }

    /// Gives the machine what has happened, and does what comes out.
    func give(_ input: LeaseInput, _ prepare: (inout State) -> Void = { _ in }) {
        finish(
            state.withLock { state in
                prepare(&state)
                return handle(input, &state)
            }
        )
    }

    /// The part inside the lock.
    func handle(_ input: LeaseInput, _ state: inout State) -> Aftermath {
        let effects = state.machine.handle(input, at: Self.now)
        var after = Aftermath()
        for id in effects.release { release(id, &state) }
        state.changes += effects.unsubscribe.map { .unsubscribe(topics.lease(of: $0)) }
        state.changes += effects.unwatch.map { .unsubscribe(topics.gone($0)) }
        state.changes += effects.subscribe.map { .subscribe(topics.lease(of: $0)) }
        state.changes += effects.watch.map { .subscribe(topics.gone($0)) }
        for publication in effects.publish { queue(publication, &state) }
        if let pulse = effects.pulse {
            state.echo.pulses += 1
            let message = MQTTMessage(topics.pulse(of: gateway), Array("\(pulse)".utf8))
            state.publications.append(Publication(peripheral: nil, message: message))
        }
        for tenure in effects.acquire { acquire(tenure, &state) }
        after.hasChanged = !effects.release.isEmpty || !effects.acquire.isEmpty
        after.store = effects.store
        for alarm in effects.alarms { state.alarms[alarm.timer] = alarm.time }
        if !effects.alarms.isEmpty { setTimer(&state) }
        return after
    }

    private func queue(_ publication: LeaseEffects.Publication, _ state: inout State) {
        // What the machine makes can be encoded.
        guard let payload = try? JSONEncoder().encode(publication.message) else { return }
        let topic = topics.lease(of: publication.peripheral)
        let message = MQTTMessage.json(topic, Array(payload), isRetained: publication.message.isRetained)
        var mark: Mark?
        if case .record(let record) = publication.message { mark = record.mark }
        state.publications.append(Publication(peripheral: publication.peripheral, mark: mark, message: message))
    }

    private func release(_ id: PeripheralID, _ state: inout State) {
        guard state.held.removeValue(forKey: id) != nil else { return }
        state.counts.lost += 1
        if state.working.contains(id) { state.parting.insert(id) }
    }

    private func acquire(_ tenure: LeaseEffects.Tenure, _ state: inout State) {
        if state.held.updateValue(tenure.epoch, forKey: tenure.peripheral) == nil { state.counts.gained += 1 }
    }

    /// The part outside the lock.
    func finish(_ after: Aftermath) {
        if after.hasChanged { changed.yield() }
        if let number = after.store {
            disk.async { [weak self, store, storing] in
                do {
                    try store.store(number)
                    storing.end()
                    self?.give(.stored(number))
                } catch {
                    storing.tell("\(error)")
                    self?.give(.storeFailed)
                }
            }
        }
        client.withLock { $0 }?.wake()
    }

    /// Connects again: what the broker has kept from this connection, such as records, never comes.
    func reconnect() { client.withLock { $0 }?.reconnect() }

    /// Says that ``tenures`` may have changed.
    func touch() { changed.yield() }

    /// Ends properly: releases what it has. The links must be down.
    func stop() { give(.stop) }

    // MARK: - The clock

    private func setTimer(_ state: inout State) {
        guard !state.isRinging, let next = state.alarms.values.min(), next != state.timer?.rings else { return }
        // On the clock of `now`: what has ended while the machine slept ends as soon as it wakes up.
        let activity = RealTimeline().schedule(after: .milliseconds(next - Self.now)) { [weak self] in
            guard let self else { return }
            clock.async { self.ring() }
        }
        state.timer = (activity, next)
    }

    private func ring() {
        let afters = state.withLock { state in
            let now = Self.now
            let due = state.alarms.filter { $0.value <= now }.map(\.key)
            for timer in due { state.alarms[timer] = nil }
            (state.timer, state.isRinging) = (nil, true)
            let afters = due.map { handle(.timer($0), &state) }
            state.isRinging = false
            setTimer(&state)
            return afters
        }
        for after in afters { finish(after) }
    }
}
