import BLEProtocol

/// Values that arrive on a new link before the program has subscribed; buffered for the subscription that follows.
///
/// A bonded peer remembers its subscriptions, and on a link taken over it never stopped sending: it continues as soon
/// as it can, and the program subscribes some round trips later.
struct EarlyValues {
    /// How long after the beginning of the link a value counts as early.
    static let period = Duration.seconds(10)

    /// How many values to buffer, for all characteristics together; further ones are dropped.
    static let limit = 1024

    private var values: [UInt16: [CharacteristicValue]] = [:]
    /// The places among them where some may be missing, and whether that may be so before the first one of a
    /// characteristic.
    private var losses: [UInt16: [LinkMachine.Loss]] = [:]
    private var hasLost = false
    private var count = 0
    /// The characteristics that have had a listener: values after it has left are not early.
    private var closed: [UInt16] = []
    private var end: Duration?

    /// Whether a value may still be early.
    var isOpen: Bool { end != nil }

    /// For how long values may still be early; `nil`: none is any more.
    func timeLeft(now: Duration) -> Duration? { end.flatMap { $0 > now ? $0 - now : nil } }

    /// The link has begun.
    mutating func begin(now: Duration) { end = now + Self.period }

    /// Buffers a value without a listener, if it may be early.
    mutating func keep(_ value: CharacteristicValue, of handle: UInt16, now: @autoclosure () -> Duration) {
        guard let end, count < Self.limit, !closed.contains(handle) else { return }
        guard now() < end else { return close() }
        if hasLost, values[handle] == nil { losses[handle] = [LinkMachine.Loss(position: 0, mayLackMore: true)] }
        values[handle, default: []].append(value)
        count += 1
    }

    /// PDUs of the link were dropped, which may have been early values.
    mutating func lost() {
        guard isOpen else { return }
        hasLost = true
        for (handle, values) in self.values {
            losses[handle, default: []].add(LinkMachine.Loss(position: values.count, mayLackMore: true))
        }
    }

    /// All buffered values for the first listener of a characteristic, with the places where some may be missing; `nil`
    /// if there is neither. What comes from now on is not early, also when that listener has left.
    ///
    /// - Parameter wasSent: whether the peer may have sent some, though none is here.
    mutating func take(all handle: UInt16, wasSent: Bool, now: Duration) -> LinkMachine.HeldValues? {
        let mayLack = hasLost && wasSent && !closed.contains(handle)
        let losses = self.losses.removeValue(forKey: handle) ?? []
        let values = take(handle, now: now)
        guard !values.isEmpty else {
            guard mayLack, isOpen else { return nil }
            return LinkMachine.HeldValues(
                losses: [LinkMachine.Loss(position: 0, mayLackMore: true)],
                isInDoubt: false
            )
        }
        _ = take(handle, now: now)
        return LinkMachine.HeldValues(values: values, losses: losses, isInDoubt: false)
    }

    /// The buffered values for the first listener of a characteristic; once there are none, it counts as listening.
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
