/// The state of the connection to one peripheral: one state of the hierarchy that <doc:ConnectionStates> shows.
public enum SessionState: Sendable {
    /// There is no link.
    case disconnected(Disconnected)
    /// There is a link.
    case connected(Connected)
    /// The session has failed with this error; only a reset leaves this state.
    case failed(BLEError)

    /// The states without a link.
    public enum Disconnected: Hashable, Sendable {
        /// Nothing has begun yet, or the program has disconnected.
        case initial
        /// The peripheral is being searched for.
        case scanning
        /// The peripheral was found but is not connected yet.
        case discovered
        /// A link is being made; the attempts since the session was last stable are counted from 1.
        case connecting(attempt: Int)
        /// The next attempt follows later; this many attempts in a row have failed, or were ready too briefly.
        case waitingToReconnect(attempt: Int, until: Resumption)
    }

    /// What ends the wait for the next attempt.
    public enum Resumption: Hashable, Sendable {
        /// The end of this time; or before that, if all connection slots were taken, the session's turn for a free one.
        case delay(Duration)
        /// The return of the adapter, which is switched off, blocked or unplugged.
        case adapter(AdapterInfo.State)
    }

    /// The states with a link.
    public enum Connected: Hashable, Sendable, CaseIterable {
        /// The link is up and its MTU negotiated; nothing is in progress.
        case idle
        /// The peripheral's services are being discovered.
        case discoveringServices
        /// The services are known.
        case servicesReady
        /// A characteristic that the session needs is being searched for.
        case discoveringCharacteristics
        /// All characteristics searched for so far have been found.
        case discoveredCharacteristic
        /// A value is being read.
        case reading
        /// A value is being written.
        case writing
        /// A subscription is being made.
        case subscribing
        /// The subscription is in place.
        case notificationsEnabled
        /// Everything planned is in place; values arrive.
        case ready
    }

    /// Whether everything planned is in place.
    public var isReady: Bool { kind == .ready }
}

extension SessionState {
    /// A state without its associated values, as used in the table of transitions.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case initial, scanning, discovered, connecting, waitingToReconnect
        case idle, discoveringServices, servicesReady, discoveringCharacteristics, discoveredCharacteristic
        case reading, writing, subscribing, notificationsEnabled, ready
        case failed

        /// The state of the upper level to which it belongs.
        package var phase: Phase {
            switch self {
            case .initial, .scanning, .discovered, .connecting, .waitingToReconnect: .disconnected
            case .failed: .failed
            default: .connected
            }
        }
    }

    /// The upper level of the hierarchy.
    package enum Phase: String, Hashable, Sendable, CaseIterable {
        /// Without a link.
        case disconnected
        /// With a link.
        case connected
        /// The session has failed.
        case failed
    }

    /// The state without its associated values.
    package var kind: Kind {
        switch self {
        case .disconnected(.initial): .initial
        case .disconnected(.scanning): .scanning
        case .disconnected(.discovered): .discovered
        case .disconnected(.connecting): .connecting
        case .disconnected(.waitingToReconnect): .waitingToReconnect
        case .connected(.idle): .idle
        case .connected(.discoveringServices): .discoveringServices
        case .connected(.servicesReady): .servicesReady
        case .connected(.discoveringCharacteristics): .discoveringCharacteristics
        case .connected(.discoveredCharacteristic): .discoveredCharacteristic
        case .connected(.reading): .reading
        case .connected(.writing): .writing
        case .connected(.subscribing): .subscribing
        case .connected(.notificationsEnabled): .notificationsEnabled
        case .connected(.ready): .ready
        case .failed: .failed
        }
    }
}

extension SessionState: Equatable {
    /// Errors count as equal if they have the same code, operation, object and cause.
    public static func == (left: SessionState, right: SessionState) -> Bool {
        switch (left, right) {
        case (.disconnected(let left), .disconnected(let right)): left == right
        case (.connected(let left), .connected(let right)): left == right
        case (.failed(let left), .failed(let right)):
            left.code == right.code && left.operation == right.operation && left.object == right.object
                && left.cause == right.cause
        default: false
        }
    }
}

extension SessionState: CustomStringConvertible {
    /// The state in words: `waiting to reconnect (failure 3, 1.04 s)`.
    public var description: String {
        switch self {
        case .disconnected(.connecting(let attempt)) where attempt > 1: "connecting (attempt \(attempt))"
        case .disconnected(.waitingToReconnect(let attempt, .delay(let delay))):
            "waiting to reconnect (failure \(attempt), \(delay.inSeconds) s)"
        case .disconnected(.waitingToReconnect(_, .adapter(let state))):
            "waiting to reconnect (the adapter is \(state.words))"
        case .failed(let error): "failed: \(error)"
        default: kind.words
        }
    }
}

extension SessionState.Kind {
    /// The name in words: `discovering services`.
    package var words: String {
        rawValue.reduce(into: "") { words, letter in
            words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
    }
}

extension Duration {
    /// Seconds with two decimals: `1.04`.
    fileprivate var inSeconds: String {
        let hundredths = attoseconds / 10_000_000_000_000_000
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
