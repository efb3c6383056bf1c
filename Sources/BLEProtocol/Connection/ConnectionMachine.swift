/// The states of one connection, from the first scan to the last disconnection; a value without I/O.
///
/// ```
/// disconnected                                connected                                        failed
/// ├ initial                                   ├ idle                                           from any state;
/// ├ scanning ─► discovered                    ├ discoveringServices ─► servicesReady           only reset leaves it
/// ├ connecting(attempt)                       ├ discoveringCharacteristics ─► discoveredCharacteristic
/// └ waitingToReconnect(attempt, until)        ├ reading · writing · subscribing ─► notificationsEnabled
///                                             └ ready
/// ```
/// It follows ``rules``, a table from which the documentation's diagram is generated too. Time and randomness come from
/// outside: a waiting state says for how long, and the random bits come with the trigger.
package struct ConnectionMachine: Sendable {
    /// Decides between another attempt and giving up.
    package struct Policy: Hashable, Sendable {
        /// How often and how soon to reconnect; `nil`: a lost link is a failure, and so is a lost adapter.
        package var reconnecting: RetryPolicy?

        /// How often in a row an attempt is repeated immediately after the connection failed to be established, the
        /// most common failure on air.
        package var immediateAttempts: Int

        /// Makes a policy; by default it reconnects forever.
        package init(reconnecting: RetryPolicy? = .exponential(), immediateAttempts: Int = 3) {
            self.reconnecting = reconnecting
            self.immediateAttempts = immediateAttempts
        }
    }

    /// The state of the connection.
    package private(set) var state = SessionState.disconnected(.initial)

    /// Decides between another attempt and giving up; a change applies to what happens after it.
    package var policy: Policy

    /// Whether the peer is known, so that no search is needed.
    package var isPeerKnown: Bool

    /// How many attempts have failed in a row. The count ends when a link that was ready for
    /// its `stableAfter` or longer is lost.
    package private(set) var failures = 0

    /// Whether the program has disconnected: the session does nothing until it is told to connect or scan.
    package private(set) var isHeld = false

    private var attempt = 0
    private var immediateAttemptsLeft = 0
    private var hasBeenConnected = false
    /// Whether the known attributes of the peripheral come from an earlier connection.
    private var usesCache = false
    private var hasTriedRemedy = false
    /// When the current link first became ready; `nil` before that.
    private var readySince: Duration?
    /// Where reading, writing or subscribing began.
    private var origin = SessionState.Kind.idle

    /// Makes a machine in its initial state.
    package init(policy: Policy = Policy(), isPeerKnown: Bool = false) {
        self.policy = policy
        self.isPeerKnown = isPeerKnown
    }

    /// Makes the table's transition for this trigger in the current state.
    ///
    /// - Parameters:
    ///   - random: 64 random bits, for the jitter of a pause.
    ///   - now: the time on any clock that never goes back, to measure how long a link has been ready.
    ///   - object: that of a failure, if the trigger's error lacks one.
    /// - Returns: the resulting effects, in this order.
    /// - Throws: ``SessionState/IllegalTrigger`` if the state doesn't accept the trigger; nothing changes then.
    @discardableResult
    package mutating func handle(
        _ trigger: SessionState.Trigger,
        random: UInt64 = 0,
        now: Duration = .zero,
        about object: String = ""
    ) throws(SessionState.IllegalTrigger) -> [SessionEffect] {
        let kind = state.kind
        let isStable = isStable(now)
        guard
            let rule = Self.rules.first(where: {
                $0.from == kind && $0.trigger == trigger.kind && meets($0.condition, trigger, isStable)
            })
        else { throw SessionState.IllegalTrigger(state: state, trigger: trigger) }
        note(trigger, rule, isStable, now)
        state = enter(rule.to, because: trigger, rule, random, object)
        return rule.effects
    }

    /// Lets the session begin by itself again: its end has disconnected it, not the program.
    package mutating func release() { isHeld = false }

    // MARK: - Conditions

    private func meets(_ condition: SessionRule.Condition, _ trigger: SessionState.Trigger, _ isStable: Bool) -> Bool {
        switch condition {
        case .always: true
        case .peerKnown: isPeerKnown
        case .failedToEstablish:
            trigger.error?.reason?.kind == .failedToEstablish && immediateAttemptsLeft > 0
        case .attemptsLeft: trigger.error.map { !isFinal($0) } ?? false && hasAttemptsLeft(isStable)
        case .attemptsLeftOnceConnected:
            hasBeenConnected && trigger.error.map { !isFinal($0) } ?? false && hasAttemptsLeft(isStable)
        case .staleCache: policy.reconnecting != nil && !hasTriedRemedy && seemsStale(trigger)
        case .staleCacheWithoutReconnecting: policy.reconnecting == nil && seemsStale(trigger)
        case .adapterMayReturn:
            if case .adapterLost(let adapter) = trigger, !adapter.isFinal { policy.reconnecting != nil } else { false }
        case .startedIn(let kind): origin == kind
        }
    }

    private func seemsStale(_ trigger: SessionState.Trigger) -> Bool {
        usesCache && trigger.error?.smellsOfStaleCache == true
    }

    private func hasAttemptsLeft(_ isStable: Bool) -> Bool {
        policy.reconnecting?.delay(afterFailure: isStable ? 1 : failures + 1, random: 0) != nil
    }

    /// Whether the current link has been ready for so long that earlier failures no longer count.
    private func isStable(_ now: Duration) -> Bool {
        guard let readySince, let policy = policy.reconnecting else { return false }
        return now - readySince >= policy.stableAfter
    }

    /// The end of a link is final for that link only.
    private func isFinal(_ error: BLEError) -> Bool { error.isFinal && error.reason == nil }

    // MARK: - What a transition leaves behind

    private mutating func note(
        _ trigger: SessionState.Trigger,
        _ rule: SessionRule,
        _ isStable: Bool,
        _ now: Duration
    ) {
        if rule.to.phase != .connected {
            if isStable { (failures, attempt) = (0, 0) }
            readySince = nil
        }
        switch trigger {
        case .connect, .scan: isHeld = false
        case .discovered: isPeerKnown = true
        case .linkEstablished:
            hasBeenConnected = true
            usesCache = false
        case .servicesDiscovered(let fromCache): usesCache = fromCache
        case .read, .write: origin = rule.from
        // If several are switched on, one after another, a refusal leads back to the first state.
        case .subscribe: origin = rule.from
        case .disconnect, .reset:
            (failures, attempt, hasTriedRemedy) = (0, 0, false)
            isHeld = trigger.kind == .disconnect
        default: break
        }
        if rule.condition == .staleCache { hasTriedRemedy = true }
        if rule.to == .ready {
            readySince = readySince ?? now
            // The cache proved right in use: the next doubt gets a remedy of its own.
            if rule.from != .reading, rule.from != .writing, rule.from != .ready, !usesCache { hasTriedRemedy = false }
        }
    }

    private mutating func enter(
        _ kind: SessionState.Kind,
        because trigger: SessionState.Trigger,
        _ rule: SessionRule,
        _ random: UInt64,
        _ object: String
    ) -> SessionState {
        switch kind {
        case .connecting:
            attempt += 1
            if rule.condition == .failedToEstablish {
                immediateAttemptsLeft -= 1
            } else {
                immediateAttemptsLeft = policy.immediateAttempts
            }
            return .disconnected(.connecting(attempt: attempt))
        case .waitingToReconnect:
            if case .adapterLost(let adapter) = trigger {
                return .disconnected(.waitingToReconnect(attempt: failures, until: .adapter(adapter)))
            }
            if rule.condition == .staleCache {
                return .disconnected(
                    .waitingToReconnect(attempt: failures, until: .delay(Self.remedyPause(random)))
                )
            }
            failures += 1
            let delay = policy.reconnecting?.delay(afterFailure: failures, random: random) ?? .zero
            return .disconnected(.waitingToReconnect(attempt: failures, until: .delay(delay)))
        case .failed:
            var error = trigger.error(about: object) ?? .failed(because: trigger)
            // The usual remedy for a lost link assumes that another one follows.
            if trigger.tellsLostLink { error.remedy = BLEError.beginAgain }
            return .failed(error)
        case .initial: return .disconnected(.initial)
        case .scanning: return .disconnected(.scanning)
        case .discovered: return .disconnected(.discovered)
        case .idle: return .connected(.idle)
        case .discoveringServices: return .connected(.discoveringServices)
        case .servicesReady: return .connected(.servicesReady)
        case .discoveringCharacteristics: return .connected(.discoveringCharacteristics)
        case .discoveredCharacteristic: return .connected(.discoveredCharacteristic)
        case .reading: return .connected(.reading)
        case .writing: return .connected(.writing)
        case .subscribing: return .connected(.subscribing)
        case .notificationsEnabled: return .connected(.notificationsEnabled)
        case .ready: return .connected(.ready)
        }
    }

    /// One to two seconds: peripherals that have just restarted with other services need a moment.
    private static func remedyPause(_ random: UInt64) -> Duration {
        .seconds(1) + .milliseconds(Int(random % 1001))
    }
}

extension BLEError {
    /// Whether the peripheral answers as if its attributes differ from the remembered ones.
    var smellsOfStaleCache: Bool {
        switch code {
        case .notFound, .notSupported, .protocolViolation: return true
        case .attributeError:
            let suspicious: [ATTError] = [.invalidHandle, .databaseOutOfSync, .attributeNotFound]
            return attError.map(suspicious.contains) ?? false
        default: return false
        }
    }

    /// What to do about a session that has failed.
    fileprivate static let beginAgain = "Call `Session.reset()` to begin again."

    fileprivate static func failed(because trigger: SessionState.Trigger) -> BLEError {
        BLEError(.ended, operation: "session", cause: "\(trigger)", remedy: beginAgain)
    }
}
