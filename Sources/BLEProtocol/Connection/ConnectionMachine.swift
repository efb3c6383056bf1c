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
/// It goes by ``rules``, a table, from which the diagram of the documentation is made too. Time and chance come from
/// outside: a state that waits says for how long, and the random bits come with the trigger.
public struct ConnectionMachine: Sendable {
    /// What decides between another attempt and giving up.
    public struct Policy: Hashable, Sendable {
        /// How often and how soon to reconnect; `nil`: a link that is lost is a failure.
        public var reconnecting: RetryPolicy?

        /// How often in a row an attempt is repeated at once when the connection failed to be established, which is
        /// the commonest failure on air.
        public var immediateAttempts: Int

        /// Makes a policy; unless told otherwise it reconnects for ever.
        public init(reconnecting: RetryPolicy? = .exponential(), immediateAttempts: Int = 3) {
            self.reconnecting = reconnecting
            self.immediateAttempts = immediateAttempts
        }
    }

    /// Where the connection stands.
    public private(set) var state = SessionState.disconnected(.initial)

    /// What decides between another attempt and giving up; a change holds for what happens after it.
    public var policy: Policy

    /// Whether it is known to whom to connect, without looking for it.
    public var isPeerKnown: Bool

    /// How many attempts have failed in a row.
    public private(set) var failures = 0

    private var attempt = 0
    private var immediateAttemptsLeft = 0
    private var hasBeenConnected = false
    /// Whether what is known of the peripheral's attributes was kept from an earlier connection.
    private var usesCache = false
    private var hasTriedRemedy = false
    /// Where reading, writing or subscribing began.
    private var origin = SessionState.Kind.idle

    /// Makes a machine in its initial state.
    public init(policy: Policy = Policy(), isPeerKnown: Bool = false) {
        self.policy = policy
        self.isPeerKnown = isPeerKnown
    }

    /// Makes the transition that the table has for this trigger in this state.
    ///
    /// - Parameter random: 64 random bits, for the jitter of a pause.
    /// - Returns: what is to be done because of it, in this order.
    /// - Throws: ``IllegalTrigger`` when the state doesn't accept the trigger; nothing has changed then.
    @discardableResult
    public mutating func handle(_ trigger: SessionTrigger, random: UInt64 = 0) throws(IllegalTrigger)
        -> [SessionEffect]
    {
        let now = state.kind
        guard
            let rule = Self.rules.first(where: {
                $0.from == now && $0.trigger == trigger.kind && meets($0.condition, trigger)
            })
        else { throw IllegalTrigger(state: state, trigger: trigger) }
        note(trigger, rule)
        state = enter(rule.to, because: trigger, rule, random)
        return rule.effects
    }

    // MARK: - Conditions

    private func meets(_ condition: SessionRule.Condition, _ trigger: SessionTrigger) -> Bool {
        switch condition {
        case .always: true
        case .peerKnown: isPeerKnown
        case .failedToEstablish:
            trigger.error?.reason?.kind == .failedToEstablish && immediateAttemptsLeft > 0
        case .attemptsLeft: trigger.error.map { !isFinal($0) } ?? false && hasAttemptsLeft
        case .attemptsLeftOnceConnected:
            hasBeenConnected && trigger.error.map { !isFinal($0) } ?? false && hasAttemptsLeft
        case .staleCache: usesCache && !hasTriedRemedy && trigger.error?.smellsOfStaleCache == true
        case .startedIn(let kind): origin == kind
        }
    }

    private var hasAttemptsLeft: Bool {
        policy.reconnecting?.delay(afterFailure: failures + 1, random: 0) != nil
    }

    /// The end of a link is final for that link only.
    private func isFinal(_ error: BLEError) -> Bool { error.isFinal && error.reason == nil }

    // MARK: - What a transition leaves behind

    private mutating func note(_ trigger: SessionTrigger, _ rule: SessionRule) {
        switch trigger {
        case .discovered: isPeerKnown = true
        case .linkEstablished:
            hasBeenConnected = true
            usesCache = false
        case .servicesDiscovered(let fromCache): usesCache = fromCache
        case .read, .write: origin = rule.from
        // From where several are switched on, one after the other, a refusal leads back to the first place.
        case .subscribe: origin = rule.from
        case .disconnect, .reset:
            (failures, attempt, hasTriedRemedy) = (0, 0, false)
        default: break
        }
        if rule.condition == .staleCache { hasTriedRemedy = true }
        if rule.to == .ready {
            (failures, attempt) = (0, 0)
            // Proven right by use: the next doubt deserves a remedy of its own.
            if rule.from != .reading, rule.from != .writing, !usesCache { hasTriedRemedy = false }
        }
    }

    private mutating func enter(
        _ kind: SessionState.Kind,
        because trigger: SessionTrigger,
        _ rule: SessionRule,
        _ random: UInt64
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
        case .failed: return .failed(trigger.error ?? .failed(because: trigger))
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
    /// Whether the peripheral answers as if it had other attributes than those that were kept of it.
    var smellsOfStaleCache: Bool {
        switch code {
        case .notFound, .notSupported, .protocolViolation: return true
        case .attributeError:
            let suspicious: [ATTError] = [.invalidHandle, .databaseOutOfSync, .attributeNotFound]
            return attError.map(suspicious.contains) ?? false
        default: return false
        }
    }

    fileprivate static func failed(because trigger: SessionTrigger) -> BLEError {
        BLEError(.ended, operation: "session", cause: "\(trigger)", remedy: "Reset the session.")
    }
}
