import BLEProtocol

/// Values that the peer still sends though nobody here wants them, and how they are switched off.
///
/// A peer keeps its configurations for a central that it is bonded with (Core Specification, Vol 3, Part G, 3.3.3.3),
/// so subscriptions of a lost link are still on when the next one begins. Whoever still wants the values subscribes
/// then, and gets those that came early. When that time is over, or when this side closes the link before, the machine
/// switches off what nobody has claimed: as an operation that waits for its turn, so it delays nothing that the program
/// does.
extension LinkMachine {
    /// A subscription that the peer may have kept from an earlier link.
    struct KeptSubscription: Hashable, Sendable {
        var uuid: BluetoothUUID
        var valueHandle: UInt16
    }

    /// What the peer sends without having been asked on this link.
    struct Unclaimed: Sendable {
        /// A limit, since a peer may send values of any handle.
        static let limit = 64
        /// How many are switched off on a link, for the same reason: each is looked for among those that were tried.
        static let mostTried = 256

        /// By value handle: the type that the characteristic must have; `nil` if only a value has revealed it.
        var handles: SmallTable<UInt16, BluetoothUUID?> = [:]
        /// What was switched off, or tried in vain; once on a link.
        var tried: [UInt16] = []
        /// What was stored for this link.
        var remembered: [KeptSubscription] = []
        /// Whether the wait for the end of the early time has begun.
        var isWaiting = false
        /// Whether that wait is over.
        var isDue = false
        /// Whether the program has used the services, and then had them forgotten: they are discovered again for this
        /// too.
        var servicesWereKnown = false
    }

    /// The number of that wait; those of the ``DatabaseTracker`` are greater.
    static let earlyWait = 0

    /// Records what the peer may have kept.
    mutating func expect(_ kept: [KeptSubscription], _ output: inout Output) {
        guard !kept.isEmpty else { return }
        unclaimed.remembered = kept
        for subscription in kept { unclaimed.handles[subscription.valueHandle] = .some(subscription.uuid) }
        waitForClaims(&output)
    }

    /// A value has arrived that nobody wants.
    mutating func foundUnclaimed(_ handle: UInt16, _ output: inout Output) {
        guard closedToSubscribers == nil, unclaimed.handles[handle] == nil, !unclaimed.tried.contains(handle),
            unclaimed.handles.count < Unclaimed.limit, unclaimed.tried.count < Unclaimed.mostTried,
            !table.hasEntry(handle)
        else { return }
        unclaimed.handles[handle] = .some(nil)
        waitForClaims(&output)
    }

    private mutating func waitForClaims(_ output: inout Output) {
        if unclaimed.isDue { return switchOffUnclaimed(&output) }
        guard !unclaimed.isWaiting else { return }
        guard let left = early.timeLeft(now: now) else { return claimsAreOver(&output) }
        unclaimed.isWaiting = true
        output.add { $0.waits.append(.start(Self.earlyWait, left)) }
    }

    /// Early values can no longer be claimed.
    mutating func claimsAreOver(_ output: inout Output) {
        unclaimed.isDue = true
        switchOffUnclaimed(&output)
    }

    /// Switches off what nobody has claimed, if the meaning of the handles is known, was known, or one request tells
    /// it.
    ///
    /// - Parameter isLast: whether this side is about to close the link: then nothing more is requested to find out.
    mutating func switchOffUnclaimed(isLast: Bool = false, _ output: inout Output) {
        guard end == nil, !unclaimed.handles.isEmpty else { return }
        let canBeFound = tracker.hasMemory || unclaimed.servicesWereKnown
        guard tracker.current != nil || !isLast && canBeFound else { return }
        for (handle, uuid) in unclaimed.handles where !table.hasEntry(handle) {
            unclaimed.tried.append(handle)
            _ = begin(.switchOff(handle, uuid), &output)
        }
        unclaimed.handles = [:]
    }

    /// Switches this characteristic off when its turn has come, if it is still the same and nobody wants it meanwhile.
    mutating func switchOff(
        _ found: Characteristic,
        ifIs uuid: BluetoothUUID?,
        _ place: LaneOrder.ID?,
        _ output: inout Output
    ) {
        // Indications of Service Changed are the link's own concern.
        guard uuid == nil || uuid == found.uuid, found.uuid != BluetoothUUID.Characteristics.serviceChanged,
            let descriptor = found.clientConfiguration?.handle
        else { return rest(place, &output) }
        carryOut(table.switchOff(valueHandle: found.valueHandle, descriptorHandle: descriptor), place, &output)
    }

    /// The handles may mean something else now.
    mutating func forgetUnclaimed() {
        // What waits for its turn looks then for what is there, and is not begun once more: the services may change
        // again and again while somebody holds the link.
        unclaimed.tried = operations.compactMap { operation -> UInt16? in
            if case .switchOff(let handle, nil) = operation.target.content { return handle }
            return nil
        }
        for (handle, uuid) in unclaimed.handles where uuid == nil { unclaimed.handles[handle] = nil }
    }

    /// What the peer keeps if it is bonded and the link ends now; `nil` if that is the same as stored before.
    func keptSubscriptions() -> [KeptSubscription]? {
        var kept: [UInt16: BluetoothUUID] = [:]
        for handle in table.handlesInUse where handle != serviceChanged?.handle {
            kept[handle] = uuid(of: handle)
        }
        for (handle, uuid) in unclaimed.handles { kept[handle] = uuid ?? self.uuid(of: handle) }
        for operation in operations {
            if case .switchOff(let handle, let uuid) = operation.target.content {
                kept[handle] = uuid ?? self.uuid(of: handle)
            }
        }
        let all = kept.sorted { $0.key < $1.key }.map { KeptSubscription(uuid: $0.value, valueHandle: $0.key) }
        return all == unclaimed.remembered ? nil : all
    }

    private func uuid(of handle: UInt16) -> BluetoothUUID? {
        subscriptions.lazy.compactMap(\.value.characteristic).first { $0.valueHandle == handle }?.uuid
            ?? tracker.current?.characteristic(valueHandle: handle)?.uuid
    }
}
