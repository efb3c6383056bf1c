/// The conditions of a controller's links, as its events report them, by connection handle.
///
/// A value without I/O: events go in, the handle of the changed link comes out.
package struct LinkConditionTable: Sendable {
    private var links: [UInt16: LinkConditions] = [:]
    /// Whether the link that the host last requested can begin only on 1M.
    private var beginsOn1M = false

    package init() {}

    /// The known conditions of a link; `nil` if it was made before this table listened.
    package subscript(handle: UInt16) -> LinkConditions? { links[handle] }

    /// Takes an event; returns the handle of the link if its conditions have changed.
    package mutating func received(_ event: HCILinkEvent) -> UInt16? {
        switch event {
        case .connecting(let isExtended):
            // Advertisements of Bluetooth 4 are answered on 1M; those of Bluetooth 5 may be on another PHY.
            beginsOn1M = !isExtended
            return nil
        case .connected(let handle, let times, let isCentral):
            // The controller may reuse a handle: the earlier link's conditions don't apply to this one.
            links[handle] = .beginning(on: isCentral && beginsOn1M ? .le1M : nil)
            _ = change(handle) { $0.set(times) }
            return handle
        case .timesChanged(let handle, let times):
            return change(handle) { $0.set(times) }
        case .peerFeatures(let handle, let hasOtherPHYs):
            // A peer with 1M alone is on it. What was reported of a link after its beginning is kept.
            guard !hasOtherPHYs, links[handle] != nil else { return nil }
            return change(handle) {
                $0.sendingPHY = $0.sendingPHY ?? .le1M
                $0.receivingPHY = $0.receivingPHY ?? .le1M
            }
        case .modulationChanged(let handle, let sending, let receiving):
            return change(handle) {
                $0.sendingPHY = sending
                $0.receivingPHY = receiving
            }
        case .dataLengthChanged(let handle, let sending, let receiving):
            return change(handle) {
                $0.sendingDataLength = sending
                $0.receivingDataLength = receiving
            }
        case .disconnected(let handle):
            links[handle] = nil
            return nil
        }
    }

    /// Forgets all conditions: events may have been missed.
    package mutating func removeAll() { (links, beginsOn1M) = ([:], false) }

    private mutating func change(_ handle: UInt16, _ change: (inout LinkConditions) -> Void) -> UInt16? {
        let former = links[handle]
        change(&links[handle, default: LinkConditions()])
        return links[handle] == former ? nil : handle
    }
}

extension LinkConditions {
    /// The largest payload of each link's packets at its beginning (Core Specification, Vol 6, Part B, 4.5.10): a
    /// controller reports when it grows.
    private static let firstDataLength = 27

    /// - Parameter phy: the PHY on which a link begins; `nil` if it isn't known.
    fileprivate static func beginning(on phy: PHY?) -> LinkConditions {
        var conditions = LinkConditions()
        (conditions.sendingPHY, conditions.receivingPHY) = (phy, phy)
        (conditions.sendingDataLength, conditions.receivingDataLength) = (firstDataLength, firstDataLength)
        return conditions
    }

    fileprivate mutating func set(_ times: HCILinkEvent.Times) {
        interval = times.interval
        latency = times.latency
        supervisionTimeout = times.supervisionTimeout
    }
}
