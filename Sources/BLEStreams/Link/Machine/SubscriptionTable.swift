/// Who wants which characteristic's values, and what must be written so that the peer sends them; a value.
///
/// One Client Characteristic Configuration descriptor serves all subscribers of a characteristic: their combined wish
/// is written, and only if it differs from the peer's present configuration. While one write is in progress, no second
/// one is sent: after its answer, the table asks for another one if the wishes have changed meanwhile.
struct SubscriptionTable {
    typealias SubscriberID = Int

    /// The bits of the Client Characteristic Configuration (Core Specification, Vol 3, Part G, 3.3.3.3).
    struct Configuration: OptionSet, Hashable, Sendable {
        let rawValue: UInt16
        static let notify = Configuration(rawValue: 1)
        static let indicate = Configuration(rawValue: 2)
    }

    /// A write to carry out now.
    struct Write: Hashable {
        var valueHandle: UInt16
        var descriptorHandle: UInt16
        var configuration: Configuration
        /// Distinguishes it from other writes: when the answer comes, the handle may refer to something else.
        var number: Int
    }

    private struct Entry {
        /// `nil`: the peer has no such descriptor and sends without being asked.
        var descriptorHandle: UInt16?
        var subscribers: SmallTable<SubscriberID, Configuration> = [:]
        var actual: Configuration = []
        /// What else the peer may send, since it has refused to stop that.
        var refusedToStop: Configuration = []
        var inFlight: Write?
        /// How often in a row the peer has postponed the write.
        var postponements = 0
        /// Whether its handles may mean something else: nothing is written until that is known.
        var isInDoubt = false

        var wanted: Configuration { subscribers.values.reduce(into: []) { $0.formUnion($1) } }

        /// Whether a write waits until the peer's services are known, or one that comes meanwhile will.
        var isPostponed: Bool { isInDoubt || inFlight == nil && postponements > 0 && wanted != actual }
    }

    private static let patience = 3

    private var entries: SmallTable<UInt16, Entry> = [:]
    private var writes = 0

    /// Whether any write is in progress: a link that is about to be closed waits for it.
    var isBusy: Bool { entries.values.contains { $0.inFlight != nil } }

    /// Adds a subscriber; returns the write to carry out, or `nil` if the peer sends the values already, or a write is
    /// in progress.
    mutating func add(
        _ id: SubscriberID,
        valueHandle: UInt16,
        descriptorHandle: UInt16?,
        _ configuration: Configuration
    ) -> Write? {
        // What others have left in doubt says nothing of what was found at the handle since.
        if let left = entries[valueHandle], left.isInDoubt, left.subscribers.isEmpty { entries[valueHandle] = nil }
        entries[valueHandle, default: Entry(descriptorHandle: descriptorHandle)].subscribers[id] = configuration
        return next(valueHandle)
    }

    /// The write that switches off a characteristic that the peer sends unasked; `nil` if somebody wants it, or that is
    /// in progress.
    mutating func switchOff(valueHandle: UInt16, descriptorHandle: UInt16) -> Write? {
        guard entries[valueHandle] == nil else { return nil }
        var entry = Entry(descriptorHandle: descriptorHandle)
        // It doesn't matter which of the two is on.
        entry.actual = [.notify, .indicate]
        entries[valueHandle] = entry
        return next(valueHandle)
    }

    /// Whether a characteristic is subscribed to, or on its way there or back.
    func hasEntry(_ valueHandle: UInt16) -> Bool { entries[valueHandle] != nil }

    /// Whether a subscriber wants a characteristic.
    func hasSubscriber(_ id: SubscriberID, valueHandle: UInt16) -> Bool {
        entries[valueHandle]?.subscribers[id] != nil
    }

    /// The characteristics that the peer sends, or has been asked to send.
    var handlesInUse: [UInt16] {
        entries.filter { !$0.value.actual.isEmpty || !($0.value.inFlight?.configuration ?? []).isEmpty }.map(\.key)
    }

    /// Whether the peer has confirmed that it sends this subscriber's values.
    func isArmed(_ id: SubscriberID, valueHandle: UInt16) -> Bool {
        guard let entry = entries[valueHandle], let wanted = entry.subscribers[id] else { return false }
        guard entry.descriptorHandle != nil else { return true }
        // What is being switched off is still on, but doesn't count for a new subscriber.
        return entry.actual.isSuperset(of: wanted) && (entry.inFlight?.configuration.isSuperset(of: wanted) ?? true)
    }

    /// Whether the peer is being told to stop sending what this subscriber wants, to those before it.
    func isBeingSwitchedOff(_ id: SubscriberID, valueHandle: UInt16) -> Bool {
        guard let entry = entries[valueHandle], let write = entry.inFlight, let wanted = entry.subscribers[id] else {
            return false
        }
        let sent = entry.actual.union(entry.refusedToStop)
        return !write.configuration.isSuperset(of: wanted) && !sent.isDisjoint(with: wanted)
    }

    /// Removes a subscriber.
    mutating func remove(_ id: SubscriberID, valueHandle: UInt16) -> Write? {
        guard entries[valueHandle]?.subscribers.removeValue(forKey: id) != nil else { return nil }
        return next(valueHandle)
    }

    /// Whether a write is the last one asked for, and not answered yet.
    func isUnderWay(_ write: Write) -> Bool { entries[write.valueHandle]?.inFlight == write }

    /// A write was answered: removes and returns the subscribers for whom it failed.
    mutating func written(_ write: Write, succeeded: Bool) -> (failed: [SubscriberID], next: Write?) {
        guard entries[write.valueHandle]?.inFlight == write else { return ([], nil) }
        entries[write.valueHandle]?.inFlight = nil
        if succeeded {
            entries[write.valueHandle]?.actual = write.configuration
            entries[write.valueHandle]?.refusedToStop = []
            entries[write.valueHandle]?.postponements = 0
            return ([], next(write.valueHandle))
        }
        let actual = entries[write.valueHandle]?.actual ?? []
        let failed =
            entries[write.valueHandle]?.subscribers.filter { !actual.isSuperset(of: $0.value) }.map(\.key) ?? []
        for id in failed { entries[write.valueHandle]?.subscribers[id] = nil }
        // A refused switch-off, also of one of the two, isn't tried again: the peer continues to send what nobody wants.
        if actual.isSuperset(of: write.configuration) { entries[write.valueHandle]?.actual = write.configuration }
        entries[write.valueHandle]?.refusedToStop.formUnion(actual.subtracting(write.configuration))
        return (failed.sorted(), next(write.valueHandle))
    }

    private mutating func next(_ valueHandle: UInt16) -> Write? {
        guard var entry = entries[valueHandle], entry.inFlight == nil else { return nil }
        let wanted = entry.wanted
        guard let descriptorHandle = entry.descriptorHandle, wanted != entry.actual else {
            if entry.subscribers.isEmpty { entries[valueHandle] = nil }
            return nil
        }
        if entry.isInDoubt { return nil }
        writes += 1
        let write = Write(
            valueHandle: valueHandle,
            descriptorHandle: descriptorHandle,
            configuration: wanted,
            number: writes
        )
        entry.inFlight = write
        entries[valueHandle] = entry
        return write
    }
}

// MARK: - When services change

extension SubscriptionTable {
    /// These handles may mean something else: nothing is written for them until ``resume()``.
    mutating func doubt(_ range: ClosedRange<UInt16>) {
        for handle in entries.keys where range.contains(handle) { entries[handle]?.isInDoubt = true }
    }

    /// Whether nothing may be written for this characteristic now.
    func isInDoubt(_ valueHandle: UInt16) -> Bool { entries[valueHandle]?.isInDoubt ?? false }

    /// The last write asked for is not made: ``resume()`` asks for it again.
    mutating func withhold(_ write: Write) {
        if isUnderWay(write) { entries[write.valueHandle]?.inFlight = nil }
    }

    /// A write was not carried out, since the peer's services may have changed; ``resume()`` tries it again.
    ///
    /// - Returns: whether to wait for that: a peer that postpones it again and again counts as refusing it.
    mutating func postponed(_ write: Write) -> Bool {
        guard entries[write.valueHandle]?.inFlight == write else { return true }
        entries[write.valueHandle]?.postponements += 1
        guard let count = entries[write.valueHandle]?.postponements, count < Self.patience else { return false }
        entries[write.valueHandle]?.inFlight = nil
        return true
    }

    /// Whether a write for this characteristic waits for ``resume()``, or will.
    func isPostponed(_ valueHandle: UInt16) -> Bool { entries[valueHandle]?.isPostponed ?? false }

    /// The characteristics for which that is so.
    var postponedHandles: [UInt16] { entries.filter { $0.value.isPostponed }.map(\.key) }

    /// The handles are unchanged: the postponed writes are made now.
    mutating func resume() -> [Write] {
        let handles = entries.keys.sorted()
        for handle in handles { entries[handle]?.isInDoubt = false }
        return handles.compactMap { next($0) }
    }

    /// The handle refers to something else now, and the peer has no subscription to it.
    mutating func forget(_ valueHandle: UInt16) { entries[valueHandle] = nil }

    /// The same, unless that is subscribed to already, and not by this subscriber.
    mutating func forget(_ valueHandle: UInt16, of id: SubscriberID) {
        if hasSubscriber(id, valueHandle: valueHandle) { forget(valueHandle) }
    }
}
