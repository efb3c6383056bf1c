/// What a controller's events have reported about its links, by their handles.
///
/// A value without I/O: events go in, the handle of the link that has changed comes out.
package struct LinkConditionTable: Sendable {
    private var links: [UInt16: LinkConditions] = [:]
    /// Whether the link that the host has asked for last can begin in one way only.
    private var beginsOn1M = false

    package init() {}

    /// The known conditions of a link; `nil` if it was made before this table listened.
    package subscript(handle: UInt16) -> LinkConditions? { links[handle] }

    /// Takes an event; returns the handle of the link of which something else is true now.
    package mutating func received(_ event: HCILinkEvent) -> UInt16? {
        switch event {
        case .connecting(let isExtended):
            // What the advertisements of Bluetooth 4 are answered on. Those of Bluetooth 5 may be on another one.
            beginsOn1M = !isExtended
            return nil
        case .connected(let handle, let times, let isCentral):
            // A handle is used again: what the link before had is not this one's.
            links[handle] = .beginning(on: isCentral && beginsOn1M ? .le1M : nil)
            _ = change(handle) { $0.set(times) }
            return handle
        case .timesChanged(let handle, let times):
            return change(handle) { $0.set(times) }
        case .peerFeatures(let handle, let hasOtherPHYs):
            // One that has 1M alone is on it. What was heard of a link from its middle on stays as it is.
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

    /// Forgets all: events may have been missed.
    package mutating func removeAll() { (links, beginsOn1M) = ([:], false) }

    private mutating func change(_ handle: UInt16, _ change: (inout LinkConditions) -> Void) -> UInt16? {
        let former = links[handle]
        change(&links[handle, default: LinkConditions()])
        return links[handle] == former ? nil : handle
    }
}

extension LinkConditions {
    /// The octets of a packet of each link that begins (Core Specification, Vol 6, Part B, 4.5.10): a controller
    /// reports when they are more.
    private static let firstDataLength = 27

    /// - Parameter phy: the PHY that a link begins with; `nil` if that isn't known.
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
