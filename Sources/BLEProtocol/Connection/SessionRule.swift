/// One row of the table of transitions.
package struct SessionRule: Hashable, Sendable {
    /// A condition of a rule in addition to state and trigger. If several rules match, the first one applies.
    package enum Condition: Hashable, Sendable {
        case always
        /// The peer is known.
        case peerKnown
        /// The connection failed to be established, and not for the last time in a row.
        case failedToEstablish
        /// Trying again may help, and the policy has an attempt left.
        case attemptsLeft
        /// The same, and there has been a link before.
        case attemptsLeftOnceConnected
        /// The remembered attributes of the peripheral seem wrong, have not been dropped for that yet, and there may be
        /// another link.
        case staleCache
        /// The same, and there may be no other link.
        case staleCacheWithoutReconnecting
        /// The adapter may return, and the policy waits for that.
        case adapterMayReturn
        /// Reading, writing or subscribing began in this state.
        case startedIn(SessionState.Kind)
    }

    /// The state before.
    package let from: SessionState.Kind
    /// What happens.
    package let trigger: SessionState.Trigger.Kind
    /// The condition in addition to state and trigger.
    package let condition: Condition
    /// The state after.
    package let to: SessionState.Kind
    /// The effects in addition to the work of the next state.
    package let effects: [SessionEffect]
}

extension SessionRule.Condition: CustomStringConvertible {
    /// The condition in words; empty if there is none.
    package var description: String {
        switch self {
        case .always: ""
        case .peerKnown: "peer known"
        case .failedToEstablish: "failed to establish, attempts at once left"
        case .attemptsLeft: "attempts left"
        case .attemptsLeftOnceConnected: "attempts left, was connected before"
        case .staleCache: "stale cache"
        case .staleCacheWithoutReconnecting: "stale cache, no reconnecting"
        case .adapterMayReturn: "adapter may return, reconnecting"
        case .startedIn(let kind): "started in \(kind.words)"
        }
    }
}

extension ConnectionMachine {
    /// The table of all transitions. If several rules have the same state and trigger, the first whose condition holds
    /// applies.
    package static let rules: [SessionRule] = disconnectedRules + connectedRules + [rule(.failed, .reset, .initial)]

    /// The triggers that a state accepts, with or without a condition, in the order of the table.
    package static func accepted(in state: SessionState.Kind) -> [SessionState.Trigger.Kind] {
        var seen: Set<SessionState.Trigger.Kind> = []
        return rules.filter { $0.from == state }.map(\.trigger).filter { seen.insert($0).inserted }
    }

    private static func rule(
        _ from: SessionState.Kind,
        _ trigger: SessionState.Trigger.Kind,
        _ to: SessionState.Kind,
        if condition: SessionRule.Condition = .always,
        _ effects: SessionEffect...
    ) -> SessionRule {
        SessionRule(from: from, trigger: trigger, condition: condition, to: to, effects: effects)
    }

    private static let disconnectedRules: [SessionRule] =
        [
            rule(.initial, .scan, .scanning),
            rule(.initial, .connect, .connecting),
            rule(.initial, .disconnect, .initial),
        ] + adapterLost(in: .initial)
        + [
            rule(.scanning, .discovered, .discovered),
            rule(.scanning, .searchFailed, .waitingToReconnect, if: .attemptsLeftOnceConnected),
            rule(.scanning, .searchFailed, .failed),
            // A first search that hears nobody fails the session; a radio that can't scan may be able to later.
            rule(.scanning, .scanFailed, .waitingToReconnect, if: .attemptsLeft),
            rule(.scanning, .scanFailed, .failed),
        ] + adapterLost(in: .scanning)
        + [
            rule(.scanning, .disconnect, .initial),

            rule(.discovered, .connect, .connecting),
        ] + adapterLost(in: .discovered)
        + [
            rule(.discovered, .disconnect, .initial),

            rule(.connecting, .linkEstablished, .idle),
            rule(.connecting, .connectFailed, .connecting, if: .failedToEstablish),
            rule(.connecting, .connectFailed, .waitingToReconnect, if: .attemptsLeft),
            rule(.connecting, .connectFailed, .failed),
        ] + adapterLost(in: .connecting)
        + [
            rule(.connecting, .disconnect, .initial),

            rule(.waitingToReconnect, .resume, .connecting, if: .peerKnown),
            rule(.waitingToReconnect, .resume, .scanning),
            rule(.waitingToReconnect, .adapterReturned, .connecting, if: .peerKnown),
            rule(.waitingToReconnect, .adapterReturned, .scanning),
            rule(.waitingToReconnect, .connect, .connecting),
            rule(.waitingToReconnect, .scan, .scanning),
        ] + adapterLost(in: .waitingToReconnect)
        + [rule(.waitingToReconnect, .disconnect, .initial)]

    private static let connectedRules: [SessionRule] =
        [
            rule(.idle, .discoverServices, .discoveringServices),
            rule(.idle, .read, .reading),
            rule(.idle, .write, .writing),
            rule(.idle, .becomeReady, .ready),

            rule(.discoveringServices, .servicesDiscovered, .servicesReady),

            rule(.servicesReady, .discoverCharacteristics, .discoveringCharacteristics),
            rule(.servicesReady, .read, .reading),
            rule(.servicesReady, .write, .writing),
            rule(.servicesReady, .becomeReady, .ready),

            rule(.discoveringCharacteristics, .characteristicDiscovered, .discoveredCharacteristic),

            rule(.discoveredCharacteristic, .discoverCharacteristics, .discoveringCharacteristics),
            rule(.discoveredCharacteristic, .read, .reading),
            rule(.discoveredCharacteristic, .write, .writing),
            rule(.discoveredCharacteristic, .subscribe, .subscribing),
            rule(.discoveredCharacteristic, .becomeReady, .ready),

            rule(.subscribing, .subscribed, .notificationsEnabled),

            rule(.notificationsEnabled, .subscribe, .subscribing),
            rule(.notificationsEnabled, .unsubscribe, .discoveredCharacteristic),
            rule(.notificationsEnabled, .read, .reading),
            rule(.notificationsEnabled, .write, .writing),
            rule(.notificationsEnabled, .becomeReady, .ready),

            rule(.ready, .read, .reading),
            rule(.ready, .write, .writing),
            rule(.ready, .subscribe, .subscribing),
            rule(.ready, .unsubscribe, .ready),
            rule(.ready, .discoverServices, .discoveringServices),
        ]
        + returns(from: .reading, on: .readFinished, .operationFailed)
        + returns(from: .writing, on: .writeFinished, .operationFailed)
        + returns(from: .subscribing, on: .subscriptionRefused)
        + [.discoveringServices, .discoveringCharacteristics].flatMap {
            remedyOrEnd(in: $0, .discoveryFailed) + anotherAttempt(in: $0, .discoveryFailed)
        }
        + anotherAttempt(in: .idle, .initialisationFailed)
        + [.servicesReady, .discoveredCharacteristic].flatMap {
            remedyOrEnd(in: $0, .initialisationFailed) + anotherAttempt(in: $0, .initialisationFailed)
        }
        + remedyOrEnd(in: .subscribing, .subscriptionFailed) + anotherAttempt(in: .subscribing, .subscriptionFailed)
        + lack(in: .discoveringServices, .notFound)
        + lack(in: .discoveringCharacteristics, .notFound) + lack(in: .discoveringCharacteristics, .notSupported)
        + lack(in: .subscribing, .notFound) + lack(in: .subscribing, .notSupported)
        + SessionState.Kind.allCases.filter { $0.phase == .connected }.flatMap { kind in
            [
                rule(kind, .linkLost, .waitingToReconnect, if: .attemptsLeft, .closeLink),
                rule(kind, .linkLost, .failed, .closeLink),
            ] + adapterLost(in: kind, .closeLink) + [rule(kind, .disconnect, .initial, .closeLink)]
        }

    /// Nothing works without the adapter: the session waits for it, or fails.
    private static func adapterLost(in kind: SessionState.Kind, _ effects: SessionEffect...) -> [SessionRule] {
        [
            SessionRule(
                from: kind,
                trigger: .adapterLost,
                condition: .adapterMayReturn,
                to: .waitingToReconnect,
                effects: effects
            ),
            SessionRule(from: kind, trigger: .adapterLost, condition: .always, to: .failed, effects: effects),
        ]
    }

    /// Returns to where the operation began; a failed operation may mean that the attributes have changed.
    private static func returns(
        from kind: SessionState.Kind,
        on triggers: SessionState.Trigger.Kind...
    ) -> [SessionRule] {
        let origins: [SessionState.Kind] =
            kind == .subscribing
            ? [.discoveredCharacteristic, .notificationsEnabled, .ready]
            : [.idle, .servicesReady, .discoveredCharacteristic, .notificationsEnabled, .ready]
        return triggers.flatMap { trigger in
            let remedy =
                trigger == .readFinished || trigger == .writeFinished ? [] : remedy(in: kind, trigger)
            return remedy + origins.map { rule(kind, trigger, $0, if: .startedIn($0)) }
        }
    }

    /// It may succeed with newly discovered attributes.
    private static func remedy(in kind: SessionState.Kind, _ trigger: SessionState.Trigger.Kind) -> [SessionRule] {
        [rule(kind, trigger, .waitingToReconnect, if: .staleCache, .closeLink, .dropCache)]
    }

    /// The same; if no other link follows, the next start discovers the peripheral's attributes again.
    private static func remedyOrEnd(in kind: SessionState.Kind, _ trigger: SessionState.Trigger.Kind) -> [SessionRule] {
        remedy(in: kind, trigger) + [
            rule(kind, trigger, .failed, if: .staleCacheWithoutReconnecting, .closeLink, .dropCache)
        ]
    }

    /// It may succeed at another time.
    private static func anotherAttempt(in kind: SessionState.Kind, _ trigger: SessionState.Trigger.Kind)
        -> [SessionRule]
    {
        [
            rule(kind, trigger, .waitingToReconnect, if: .attemptsLeft, .closeLink),
            rule(kind, trigger, .failed, .closeLink),
        ]
    }

    /// What a peripheral lacks, it will lack at another time too.
    private static func lack(in kind: SessionState.Kind, _ trigger: SessionState.Trigger.Kind) -> [SessionRule] {
        remedyOrEnd(in: kind, trigger) + [rule(kind, trigger, .failed, .closeLink)]
    }
}
