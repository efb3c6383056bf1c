/// How long several adapters listen for a peripheral before one of them is chosen; a value without I/O or clock.
///
/// They receive the same advertisements, so the comparison is fair only once all of them listen: an adapter whose
/// kernel or controller is busy starts later.
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

    /// How long to wait for adapters that don't listen yet.
    static let starting = Duration.seconds(5)
    /// How long all listen for it. Most devices advertise several times a second.
    static let listening = Duration.milliseconds(2500)
    /// How long to wait for the others after the first one has received it: for the same advertisement, and for the
    /// next one if that was lost.
    static let settling = Duration.milliseconds(500)

    private enum Phase { case starting, listening, settling, over }

    private var phase = Phase.starting
    /// The adapters that take part; those that listen; those that have received it.
    private var adapters: Set<AdapterID>
    private var listeners: Set<AdapterID> = []
    private var hearers: Set<AdapterID> = []

    /// Begins; the caller starts a timer of ``starting``.
    init(_ adapters: [AdapterID]) { self.adapters = Set(adapters) }

    /// An adapter listens. The result restarts the timer, whose end is the end of the round; `nil` leaves it as it is.
    mutating func listens(_ adapter: AdapterID) -> Duration? {
        listeners.insert(adapter)
        return advance()
    }

    /// An adapter has received the peripheral.
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
