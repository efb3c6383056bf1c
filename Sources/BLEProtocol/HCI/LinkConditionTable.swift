/// What a controller's events have told of its links, by their handles.
///
/// A value without I/O: events go in, the handle of the link that has changed comes out.
package struct LinkConditionTable: Sendable {
    private var links: [UInt16: LinkConditions] = [:]

    package init() {}

    /// What is known of a link; `nil` where it was made before this table listened.
    package subscript(handle: UInt16) -> LinkConditions? { links[handle] }

    /// Takes an event; returns the handle of the link of which something else is true now.
    package mutating func received(_ event: HCILinkEvent) -> UInt16? {
        switch event {
        case .connected(let handle, let times):
            // A handle is used again: what the link before had is not this one's.
            links[handle] = LinkConditions()
            return change(handle) { $0.set(times) }
        case .timesChanged(let handle, let times):
            return change(handle) { $0.set(times) }
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
    package mutating func removeAll() { links = [:] }

    private mutating func change(_ handle: UInt16, _ change: (inout LinkConditions) -> Void) -> UInt16? {
        let former = links[handle]
        change(&links[handle, default: LinkConditions()])
        return links[handle] == former ? nil : handle
    }
}

extension LinkConditions {
    fileprivate mutating func set(_ times: HCILinkEvent.Times) {
        interval = times.interval
        latency = times.latency
        supervisionTimeout = times.supervisionTimeout
    }
}
