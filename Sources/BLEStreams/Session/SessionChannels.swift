import BLEProtocol
import BLERadio
import Synchronization

/// All subscriptions of a session: those of its plan, and those of streams being iterated.
final class SessionChannels: Sendable {
    /// A subscription that nobody needs any more, and what ends it.
    typealias Unwanted = (subscription: Session.Subscription, cancel: @Sendable () -> Void)

    private struct State {
        var channels: [Session.Subscription: SessionChannel] = [:]
        /// In the order of the first request.
        var order: [Session.Subscription] = []
        /// Subscriptions that are in place but no longer needed, until the driver ends them.
        var unwanted: [(subscription: Session.Subscription, channel: SessionChannel)] = []
        var failure: BLEError?
        /// Whether the session has ended.
        var isOver = false
        var onWish: (@Sendable () -> Void)?

        /// The channel of a subscription, made if there is none.
        ///
        /// One that was to be ended goes on: what it still brings would be followed by a hole that nobody could tell.
        mutating func channel(of subscription: Session.Subscription) -> SessionChannel {
            if let channel = channels[subscription] { return channel }
            let former = unwanted.firstIndex { $0.subscription == subscription }
            let channel = former.map { unwanted.remove(at: $0).channel } ?? SessionChannel(isPlanned: false)
            channels[subscription] = channel
            order.append(subscription)
            return channel
        }

        /// Adds a consumer, or gives one whose stream has ended what was kept for it.
        mutating func add(_ subscription: Session.Subscription, _ consumer: SessionConsumer) -> Entered {
            guard consumer.finish != nil, isOver || failure != nil else {
                let channel = channel(of: subscription)
                let added = channel.add(consumer)
                return Entered(id: added.id, mustWake: added.mustWake, isOn: channel.isOn)
            }
            guard !isOver, let failure else { return Entered(isEnded: true) }
            let added = channels[subscription]?.addEnded(consumer)
            return Entered(id: added?.id, mustWake: added?.mustWake == true, isEnded: true, failure: failure)
        }
    }

    private let timeline: any Timeline
    private let state: Mutex<State>

    init(_ planned: [Session.Subscription], timeline: any Timeline) {
        self.timeline = timeline
        var state = State()
        for subscription in planned where state.channels[subscription] == nil {
            state.channels[subscription] = SessionChannel(isPlanned: true)
            state.order.append(subscription)
        }
        self.state = Mutex(state)
    }

    /// Called whenever a subscription must be made or ended.
    func whenWished(_ action: (@Sendable () -> Void)?) { state.withLock { $0.onWish = action } }

    // MARK: - Consumers

    /// Adds a consumer; the returned closure removes it, and with the last one the subscription.
    func add(
        _ subscription: Session.Subscription,
        _ consumer: SessionConsumer
    ) -> @Sendable () -> Void {
        add([(subscription: subscription, consumer: consumer)])
    }

    /// Adds the consumers of one stream, one for each of its subscriptions, all at once: if the session fails
    /// meanwhile, the stream ends behind what was kept of all of them.
    ///
    /// - Returns: the closure that removes them.
    func add(_ parts: [(subscription: Session.Subscription, consumer: SessionConsumer)]) -> @Sendable () -> Void {
        let added = state.withLock { state in parts.map { state.add($0.subscription, $0.consumer) } }
        for (part, entered) in zip(parts, added) where entered.mustWake { part.consumer.wake() }
        if let ended = added.first(where: \.isEnded) {
            parts.first?.consumer.finish?(ended.failure)
        } else {
            wish()
        }
        for (part, entered) in zip(parts, added) where entered.isOn { part.consumer.switchedOn?() }
        let places = zip(parts, added).map { (id: $1.id, subscription: $0.subscription) }
        return {
            for place in places { if let id = place.id { self.remove(id, place.subscription) } }
        }
    }

    /// What has become of a consumer that was to be added.
    private struct Entered {
        /// `nil` if its stream has ended, and there was nothing for it.
        var id: Int?
        var mustWake = false
        var isOn = false
        /// Whether its stream has ended, since the session has; with the failure, if it has failed.
        var isEnded = false
        var failure: BLEError?
    }

    private func remove(_ id: Int, _ subscription: Session.Subscription) {
        var consumer: SessionConsumer?
        let (cancel, isOn) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            consumer = state.channels[subscription]?.remove(id, hasFailed: state.failure != nil)
            guard let channel = state.channels[subscription], !channel.isWanted else { return (nil, false) }
            state.channels[subscription] = nil
            state.order.removeAll { $0 == subscription }
            // The driver ends a subscription that is in place, so that the states report it.
            guard channel.isOn, channel.cancel != nil else { return (channel.cancel, false) }
            channel.cutMessages()
            state.unwanted.append((subscription, channel))
            return (nil, true)
        }
        withExtendedLifetime(consumer) {}
        cancel?()
        if isOn { wish() }
    }

    private func wish() {
        let action = state.withLock { $0.onWish }
        action?()
    }

    // MARK: - The driver

    /// The subscriptions to make, the oldest request first.
    var pending: [(subscription: Session.Subscription, isPlanned: Bool)] {
        state.withLock { state in
            state.order.compactMap { subscription in
                guard let channel = state.channels[subscription], !channel.isOn else { return nil }
                return (subscription, channel.isPlanned)
            }
        }
    }

    /// Whether there is a subscription to end.
    var hasUnwanted: Bool { state.withLock { !$0.unwanted.isEmpty } }

    /// Takes the first subscription to end, unless somebody wants it again: nobody can have it any more.
    func takeUnwanted() -> Unwanted? {
        state.withLock { state in
            guard !state.unwanted.isEmpty else { return nil }
            let (subscription, channel) = state.unwanted.removeFirst()
            return channel.cancel.map { (subscription, $0) }
        }
    }

    /// Stores the closure that ends a subscription on the present link; calls it at once if it is no longer needed.
    func keep(_ cancel: @escaping @Sendable () -> Void, of subscription: Session.Subscription) {
        let isWanted = state.withLock { state in
            state.channels[subscription]?.cancel = cancel
            return state.channels[subscription] != nil
        }
        if !isWanted { cancel() }
    }

    func isOn(_ subscription: Session.Subscription) -> Bool {
        state.withLock { $0.channels[subscription]?.isOn == true }
    }

    /// The peer has confirmed a subscription.
    func confirmed(_ subscription: Session.Subscription) {
        state.withLock { $0.channels[subscription]?.isConfirmed = true }
    }

    /// The driver knows that a subscription is in place; does nothing if it has ended meanwhile.
    func switchedOn(_ subscription: Session.Subscription) {
        let now = timeline.now
        let told = state.withLock { state -> (woken: Few<SessionChannel.Wake>, consumers: [SessionConsumer])? in
            guard state.channels[subscription]?.isConfirmed == true else { return nil }
            return state.channels[subscription]?.switchedOn(now: now)
        }
        guard let told else { return }
        for wake in told.woken { wake() }
        for consumer in told.consumers { consumer.switchedOn?() }
    }

    func deliver(_ values: [CharacteristicValue], of subscription: Session.Subscription) {
        let now = timeline.now
        let woken = state.withLock { $0.channels[subscription]?.deliver(values, now: now) ?? [] }
        for wake in woken { wake() }
    }

    func lost(_ count: Int, of subscription: Session.Subscription) {
        let woken = state.withLock { $0.channels[subscription]?.lost(count) ?? [] }
        for wake in woken { wake() }
    }

    /// PDUs of the link were dropped that may have been values of the subscription.
    func mayLack(_ subscription: Session.Subscription) {
        let woken = state.withLock { $0.channels[subscription]?.mayLack() ?? [] }
        for wake in woken { wake() }
    }

    /// The services have changed, and the peer may have withheld values of the subscription, which goes on. Who follows
    /// a value by reading it reads it again behind that.
    func withheld(_ subscription: Session.Subscription, _ gap: StreamGap) {
        let told = state.withLock { state -> (woken: Few<SessionChannel.Wake>, readers: [SessionConsumer])? in
            // Without values of this link, its beginning is the gap.
            guard let channel = state.channels[subscription], channel.isOn || channel.isFlowing else { return nil }
            return (channel.mayLack(gap), channel.readers)
        }
        guard let told else { return }
        for wake in told.woken { wake() }
        for reader in told.readers { reader.switchedOn?() }
    }

    /// The services have changed, and the subscription has been made anew elsewhere.
    func moved(_ subscription: Session.Subscription, because reason: BLEError) {
        let told = state.withLock { state -> (woken: Few<SessionChannel.Wake>, readers: [SessionConsumer])? in
            guard let channel = state.channels[subscription] else { return nil }
            channel.moved(because: reason)
            return channel.readersBehindMove()
        }
        guard let told else { return }
        for wake in told.woken { wake() }
        for reader in told.readers { reader.switchedOn?() }
    }

    /// The link has ended, or only others still use it: no more values of it are accepted.
    func interrupted(by reason: any Error) {
        let (now, linkBreak) = (timeline.now, LinkBreak())
        let cancels = state.withLock { state -> [@Sendable () -> Void] in
            let cancels =
                state.order.compactMap { state.channels[$0]?.cancel } + state.unwanted.compactMap(\.channel.cancel)
            for subscription in state.order {
                state.channels[subscription]?.interrupted(by: reason, now: now, linkBreak)
            }
            state.unwanted = []
            return cancels
        }
        for cancel in cancels { cancel() }
    }

    /// The adapter was lost, which is why the link ended if that was just before.
    func explained(by reason: any Error) {
        let now = timeline.now
        state.withLock { state in
            for subscription in state.order { state.channels[subscription]?.explained(by: reason, now: now) }
        }
    }

    /// A confirmed subscription has ended, and the link goes on: behind a change of its services, the peer has refused
    /// to send, or has nothing left to send. A planned one is made once more, which shows whether the session can go
    /// on; the streams of others end with the error.
    func ended(_ subscription: Session.Subscription, because error: BLEError) {
        let now = timeline.now
        let isPlanned = state.withLock { state -> Bool? in
            // Who begins next has it made anew.
            state.unwanted.removeAll { $0.subscription == subscription }
            guard let channel = state.channels[subscription], channel.isConfirmed else { return nil }
            state.channels[subscription]?.interrupted(by: error, now: now)
            return channel.isPlanned
        }
        guard let isPlanned else { return }
        if isPlanned { wish() } else { refuse(subscription, error) }
    }

    /// A subscription is not possible: its streams end with the error.
    func refuse(_ subscription: Session.Subscription, _ error: BLEError) {
        let consumers = state.withLock { state in
            let consumers = state.channels[subscription]?.finish(hasFailed: false) ?? []
            if state.channels[subscription]?.isWanted == false {
                state.channels[subscription] = nil
                state.order.removeAll { $0 == subscription }
            }
            return consumers
        }
        for consumer in consumers { consumer.finish?(error) }
    }

    /// The session is over or has failed: all streams end, those that begin later too, until it begins anew. Behind a
    /// failure, they have what came of planned subscriptions before that first.
    ///
    /// - Returns: what ends those that have begun, to be called without a lock.
    func finish(throwing error: BLEError?) -> @Sendable () -> Void {
        let consumers = state.withLock { state in
            // The end of a failed session doesn't undo its failure: it has failed still when it is run again.
            if let error { state.failure = error } else { state.isOver = true }
            var consumers: [SessionConsumer] = []
            for subscription in state.order {
                consumers += state.channels[subscription]?.finish(hasFailed: error != nil) ?? []
                if state.channels[subscription]?.isWanted == false { state.channels[subscription] = nil }
            }
            state.order.removeAll { state.channels[$0] == nil }
            return consumers
        }
        return { for consumer in consumers { consumer.finish?(error) } }
    }

    /// Streams may begin again after a failure.
    func reopen() { state.withLock { $0.failure = nil } }

    /// The session begins, perhaps again: streams may too.
    func begin() { state.withLock { $0.isOver = false } }
}
