internal import BLEProtocol

extension AirState {
    mutating func readConditions(of id: LinkEndID, _ result: @escaping @Sendable (LinkConditions) -> Void) {
        let conditions = links[id.link].map { self.conditions(of: $0, id.role) } ?? LinkConditions()
        outbox.append(.conditions(conditions, result))
    }

    mutating func observeConditions(
        of id: LinkEndID,
        _ events: @escaping @Sendable (LinkConditions) -> Void
    ) -> UInt64 {
        nextConditionObserver += 1
        links[id.link]?.conditionObservers.append((nextConditionObserver, id.role, events))
        return nextConditionObserver
    }

    /// Removes an observer and returns it, so that its closure is released outside the lock.
    mutating func removeConditionObserver(
        _ observer: UInt64,
        of id: LinkEndID
    ) -> (@Sendable (LinkConditions) -> Void)? {
        guard let link = links[id.link], let place = link.conditionObservers.firstIndex(where: { $0.id == observer })
        else { return nil }
        return link.conditionObservers.remove(at: place).events
    }

    /// Changes the timing of a link from its next connection event on.
    mutating func request(_ parameters: ConnectionParameters, of id: LinkEndID) {
        guard let link = links[id.link], link[id.role].isOpen else { return }
        let former = link.timing
        link.anchor = nextConnectionEvent(of: link)
        link.timing = former.with(parameters)
        guard link.timing != former else { return }
        for observer in link.conditionObservers {
            outbox.append(.conditions(conditions(of: link, observer.role), observer.events))
        }
    }

    /// Requests other parameters from a central, as its peripheral.
    mutating func request(_ parameters: ConnectionParameters, from peripheral: AdapterID, to central: AdapterID) -> Bool
    {
        guard let id = adapters[peripheral].links[adapters[central].address], id.role == .peripheral else {
            return false
        }
        request(parameters, of: id)
        return true
    }

    private func conditions(of link: LinkRecord, _ role: LinkRole) -> LinkConditions {
        var conditions = link.timing.conditions
        if !link.isSilent, !link[role].isOver {
            conditions.rssi = measure(link.central.adapter, link.peripheral.adapter).map(Int.init)
        }
        return conditions
    }
}
