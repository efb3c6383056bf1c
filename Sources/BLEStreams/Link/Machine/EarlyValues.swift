import BLEProtocol

/// Values that came on a new link before anybody had asked for them here; kept for those who will in a moment.
///
/// A peer with a bond has kept what it was told to notify, and on a link that was taken over it never stopped: it goes on
/// as soon as it can, and the program subscribes some round trips later.
struct EarlyValues {
    /// How long after the beginning of the link a value is early.
    static let period = Duration.seconds(10)

    /// How many are kept, of all characteristics together; those beyond are dropped, the newest first.
    static let limit = 1024

    private var values: [UInt16: [CharacteristicValue]] = [:]
    private var count = 0
    /// Characteristics that had a listener: what comes when that has left is nobody's.
    private var closed: [UInt16] = []
    private var end: Duration?

    /// Whether a value may still be early.
    var isOpen: Bool { end != nil }

    /// For how long values may still be early; `nil`: none is any more.
    func timeLeft(now: Duration) -> Duration? { end.flatMap { $0 > now ? $0 - now : nil } }

    /// The link has begun.
    mutating func begin(now: Duration) { end = now + Self.period }

    /// Keeps a value that nobody listens to, where it may be an early one.
    mutating func keep(_ value: CharacteristicValue, of handle: UInt16, now: @autoclosure () -> Duration) {
        guard let end, count < Self.limit, !closed.contains(handle) else { return }
        guard now() < end else { return close() }
        values[handle, default: []].append(value)
        count += 1
    }

    /// What there is for the first listener of a characteristic. When there is nothing more, it listens from then on.
    mutating func take(_ handle: UInt16, now: @autoclosure () -> Duration) -> [CharacteristicValue] {
        guard let end else { return [] }
        guard now() < end else {
            close()
            return []
        }
        guard let taken = values.removeValue(forKey: handle) else {
            if !closed.contains(handle) { closed.append(handle) }
            return []
        }
        count -= taken.count
        return taken
    }

    private mutating func close() { self = EarlyValues() }
}
