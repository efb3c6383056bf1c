import BLEProtocol

/// Values that arrive on a new link before the program has subscribed; buffered for the subscription that follows.
///
/// A bonded peer remembers its subscriptions, and on a link taken over it never stopped sending: it continues as soon
/// as it can, and the program subscribes some round trips later.
struct EarlyValues {
    /// How long after the beginning of the link a value counts as early.
    static let period = Duration.seconds(10)

    /// How many values to buffer, for all characteristics together; further ones are dropped. The subscription
    /// that follows counts them.
    static let limit = 1024

    /// A value, and how the link was protected when it came.
    private struct Kept {
        var value: CharacteristicValue
        var level: LinkSecurity.Level?
    }

    private var values: [UInt16: [Kept]] = [:]
    /// The places among them where some may be missing, and whether that may be so before the first one of a
    /// characteristic.
    private var losses: [UInt16: [LinkMachine.Loss]] = [:]
    private var hasLost = false
    private var count = 0
    /// Those that were kept since it was last noted how the link is protected: the places among those of their
    /// characteristic.
    private var unnoted: [(handle: UInt16, index: Int)] = []
    /// The characteristics that have had a listener: values after it has left are not early.
    private var closed: [UInt16] = []
    private var end: Duration?
    /// The level below which nothing is for the program; `nil`: none is demanded.
    private var least: LinkSecurity.Level?

    /// - Parameter isResumed: whether an earlier program may have used the link: what the peer has sent since then is
    ///   lost, and the first values may go on from there.
    init(isResumed: Bool = false) { hasLost = isResumed }

    /// Whether a value may still be early.
    var isOpen: Bool { end != nil }

    /// For how long values may still be early; `nil`: none is any more.
    func timeLeft(now: Duration) -> Duration? { end.flatMap { $0 > now ? $0 - now : nil } }

    /// The link has begun.
    mutating func begin(now: Duration) { end = now + Self.period }

    /// Buffers a value without a listener, if it may be early.
    ///
    /// How the link is protected is told behind it, by ``note(_:)``: only few values are early, and asking the kernel
    /// costs a system call.
    mutating func keep(_ value: CharacteristicValue, of handle: UInt16, now: @autoclosure () -> Duration) {
        guard let end, count < Self.limit, !closed.contains(handle) else { return drop(of: handle) }
        guard now() < end else { return close() }
        if hasLost, values[handle] == nil { lose(LinkMachine.Loss(position: 0, mayLackMore: true), of: handle) }
        unnoted.append((handle, values[handle]?.count ?? 0))
        values[handle, default: []].append(Kept(value: value))
        count += 1
    }

    /// Whether values were kept of which it isn't noted yet how the link was protected.
    var lacksLevels: Bool { !unnoted.isEmpty }

    /// Notes for these how the link is protected; `nil`: it isn't encrypted.
    mutating func note(_ level: LinkSecurity.Level?) {
        for (handle, index) in unnoted { values[handle]?[index].level = level }
        unnoted = []
    }

    /// PDUs of the link were dropped, which may have been early values.
    mutating func lost() {
        guard isOpen else { return }
        hasLost = true
        for (handle, values) in self.values {
            lose(LinkMachine.Loss(position: values.count, mayLackMore: true), of: handle)
        }
    }

    /// The peer may have withheld values behind those that have come.
    mutating func withheld() {
        for (handle, values) in self.values {
            lose(LinkMachine.Loss(position: values.count, isWithheld: true), of: handle)
        }
    }

    /// There is no room for a value.
    private mutating func drop(of handle: UInt16) {
        guard isOpen, !closed.contains(handle) else { return }
        // A peer may send values of any handle.
        guard losses[handle] != nil || losses.count < Self.limit else { return }
        lose(LinkMachine.Loss(position: values[handle]?.count ?? 0, dropped: 1), of: handle)
    }

    private mutating func lose(_ loss: LinkMachine.Loss, of handle: UInt16) {
        losses[handle, default: []].add(loss)
    }

    /// All buffered values for the first listener of a characteristic, with the places where some may be missing; `nil`
    /// if there is neither. What comes from now on is not early, also when that listener has left.
    ///
    /// - Parameter wasSent: whether the peer may have sent some, though none is here.
    mutating func take(all handle: UInt16, wasSent: Bool, now: Duration) -> LinkMachine.HeldValues? {
        if let least { drop(below: least, of: handle) }
        let mayLack = hasLost && wasSent && !closed.contains(handle)
        let atBeginning = mayLack ? [LinkMachine.Loss(position: 0, mayLackMore: true)] : []
        let losses = self.losses.removeValue(forKey: handle) ?? atBeginning
        let values = take(handle, now: now)
        guard isOpen, !values.isEmpty || !losses.isEmpty else { return nil }
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
        unnoted.removeAll { $0.handle == handle }
        guard let taken = values.removeValue(forKey: handle) else {
            if !closed.contains(handle) { closed.append(handle) }
            return []
        }
        count -= taken.count
        return taken.map(\.value)
    }

    /// From now on no listener of the program's gets what came while the link was protected less than this.
    ///
    /// The link itself still learns that the services have changed: the peer has told that once, and who forges it only
    /// has them looked at.
    mutating func demand(_ level: LinkSecurity.Level) { least = max(least ?? level, level) }

    /// Drops what came while the link was protected less than this, which anybody may have sent. It is missing there.
    mutating func drop(below level: LinkSecurity.Level, of handle: UInt16) {
        guard let all = values[handle] else { return }
        unnoted.removeAll { $0.handle == handle }
        var left: [Kept] = []
        var places: [LinkMachine.Loss] = []
        var former = losses[handle] ?? []
        for (index, kept) in all.enumerated() {
            while let loss = former.first, loss.position <= index {
                places.add(loss.moved(to: left.count))
                former.removeFirst()
            }
            if let came = kept.level, came >= level {
                left.append(kept)
            } else {
                places.add(LinkMachine.Loss(position: left.count, dropped: 1))
            }
        }
        for loss in former { places.add(loss.moved(to: left.count)) }
        count -= all.count - left.count
        values[handle] = left.isEmpty ? nil : left
        losses[handle] = places.isEmpty ? nil : places
    }

    private mutating func close() { self = EarlyValues() }
}

extension LinkMachine.Loss {
    /// The same, with other values before it.
    fileprivate func moved(to position: Int) -> LinkMachine.Loss {
        var loss = self
        loss.position = position
        return loss
    }
}
