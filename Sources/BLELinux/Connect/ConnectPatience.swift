/// How long the kernel should wait for the answer of a peer that it has received and tries to connect to.
///
/// While it waits, the controller does nothing else: a peer that was received once and has left holds up everything,
/// for 4 s on Linux 6.1 and for 20 s on 6.12. So the kernel waits only the ``short`` time for most peers. A peer
/// answers only with its next advertisement, and some advertise every ten seconds: a peer that has not been received
/// for a while may be one of those, and gets the ``long`` time, until it is more likely to be absent.
///
/// ```
///          began                hesitation                    absence
///   (none) ─────► likely near ────────────► perhaps seldom ─────────────► likely absent
///                    short                      long                         short
/// ```
/// An adapter has one such time; it is set to the longest that any attempt needs. A failure shortens the hesitation of
/// the next try to the same peer, and every third try gets the long time immediately, so that no advertising interval
/// is missed.
struct ConnectPatience {
    /// What the driver is to do.
    struct Output: Equatable {
        struct Timer: Equatable {
            var attempt: Int
            var delay: Duration
        }

        /// Makes the kernel wait for this long.
        var patience: Duration?
        var timer: Timer?
    }

    private enum Presence {
        case near
        case seldom
        case absent
    }

    /// Longer than most peripherals are silent between two advertisements.
    static let short = Duration.seconds(3)
    /// Longer than any peripheral is silent: 10.24 s and a random delay (Core Specification, Vol 6, Part B, 4.4.2.2).
    static let long = Duration.seconds(11)
    /// How long a peer may go unreceived before it counts as one that advertises rarely.
    static let hesitation = Duration.seconds(2)
    /// The hesitation after a peer was received and did not answer.
    static let hesitationAfterFailure = Duration.milliseconds(300)
    /// How long it may then go unreceived before it counts as absent.
    static let absence = Duration.seconds(33)

    private var attempts: [Int: Presence] = [:]
    private var told: Duration?

    /// An attempt begins to wait for its peer.
    ///
    /// - Parameter failures: how often it has waited before and the peer was received, but did not answer.
    mutating func began(_ attempt: Int, failures: Int) -> Output {
        // Another program may have set it while no attempt was waiting.
        if attempts.isEmpty { told = nil }
        switch failures % 3 {
        case 0: return wait(attempt, as: .near, for: Self.hesitation)
        case 1: return wait(attempt, as: .near, for: Self.hesitationAfterFailure)
        default: return wait(attempt, as: .seldom, for: Self.absence)
        }
    }

    mutating func timerFired(_ attempt: Int) -> Output {
        switch attempts[attempt] {
        case .near: return wait(attempt, as: .seldom, for: Self.absence)
        case .seldom:
            attempts[attempt] = .absent
            return Output(patience: news())
        case .absent, nil: return Output()
        }
    }

    /// An attempt has connected, or was given up.
    mutating func ended(_ attempt: Int) -> Output {
        guard attempts.removeValue(forKey: attempt) != nil else { return Output() }
        return Output(patience: news())
    }

    /// Whether an attempt waits for its peer.
    func includes(_ attempt: Int) -> Bool { attempts[attempt] != nil }

    private mutating func wait(_ attempt: Int, as presence: Presence, for delay: Duration) -> Output {
        attempts[attempt] = presence
        return Output(patience: news(), timer: Output.Timer(attempt: attempt, delay: delay))
    }

    /// The time that the kernel has not been told yet.
    private mutating func news() -> Duration? {
        let wanted = attempts.values.contains(.seldom) ? Self.long : Self.short
        guard wanted != told else { return nil }
        told = wanted
        return wanted
    }
}
