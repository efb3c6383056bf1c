/// How long several adapters listen for a peripheral before one of them is chosen. A value without I/O or clock.
///
/// They hear the same advertisements, so it is fair to compare them once all of them listen, and not before: one begins later
/// than another where its kernel or its controller is busy.
///
/// ```
///            all listen                    one has heard it
///  starting ────────────► listening ─────────────────────────► settling
///      │                      │ none has, for 2.5 s               │ 0.5 s, or all have heard it
///      │ 5 s                  ▼                                   ▼
///      └───────────────────► over ◄───────────────────────────────┘
/// ```
struct ListeningRound {
    typealias AdapterID = AdapterChooser.AdapterID

    /// How long those that don't listen yet are waited for.
    static let starting = Duration.seconds(5)
    /// How long all listen for it. Most advertise several times a second.
    static let listening = Duration.milliseconds(2500)
    /// How long the others are waited for behind the first that hears it: for the same advertisement, and the next one where
    /// that was lost.
    static let settling = Duration.milliseconds(500)

    private enum Phase { case starting, listening, settling, over }

    private var phase = Phase.starting
    /// Who takes part, and who of them listens, and has heard it.
    private var adapters: Set<AdapterID>
    private var listeners: Set<AdapterID> = []
    private var hearers: Set<AdapterID> = []

    /// Begins; the timer is to run for ``starting``.
    init(_ adapters: [AdapterID]) { self.adapters = Set(adapters) }

    /// An adapter listens. What is returned sets the timer anew, with whose end the round is over; `nil` leaves it as it is.
    mutating func listens(_ adapter: AdapterID) -> Duration? {
        listeners.insert(adapter)
        return advance()
    }

    /// An adapter hears the peripheral.
    mutating func hears(_ adapter: AdapterID) -> Duration? {
        listeners.insert(adapter)
        hearers.insert(adapter)
        return advance()
    }

    /// An adapter can't listen.
    mutating func fails(_ adapter: AdapterID) -> Duration? {
        adapters.remove(adapter)
        return advance()
    }

    private mutating func advance() -> Duration? {
        guard phase != .over else { return nil }
        if adapters.isSubset(of: hearers) {
            phase = .over
            return .zero
        }
        guard adapters.isSubset(of: listeners) else { return nil }
        if !hearers.isEmpty, phase != .settling {
            phase = .settling
            return Self.settling
        }
        if hearers.isEmpty, phase == .starting {
            phase = .listening
            return Self.listening
        }
        return nil
    }
}
