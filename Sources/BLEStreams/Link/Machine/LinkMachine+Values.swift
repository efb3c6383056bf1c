import BLEProtocol

/// The path of a value: from its handle to its consumers, or to the buffer where it waits for them.
extension LinkMachine {
    /// Delivers consecutive values.
    mutating func take(_ values: [CharacteristicValue], of handle: UInt16, _ output: inout Output) {
        guard let route = routes[handle] else {
            for value in values { early.keep(value, of: handle, now: now) }
            return foundUnclaimed(handle, &output)
        }
        if !route.open.isEmpty {
            output.deliveries.append(Delivery(handle: handle, consumers: route.open, values: values))
        }
        for id in route.held { subscriptions[id]?.held?.add(values) }
        if route.isOwn { servicesChanged(values, &output) }
    }

    /// Appends a value to the previous ones if they are of the same characteristic.
    mutating func take(_ value: CharacteristicValue, of handle: UInt16, _ output: inout Output) {
        let last = output.deliveries.count - 1
        if last >= 0, output.deliveries[last].handle == handle, let route = routes[handle], route.held.isEmpty,
            !route.isOwn, route.open == output.deliveries[last].consumers
        {
            output.deliveries[last].values.append(value)
        } else {
            take([value], of: handle, &output)
        }
    }

    /// PDUs were dropped before they arrived here. If only one characteristic is subscribed to and no response is
    /// awaited, they were its values; otherwise it is unknown what they were. Service Changed, which the link itself
    /// subscribes to, comes next to never, and doesn't count beside a characteristic of the program. They may also
    /// have been what the peer writes to the attributes of this device.
    mutating func dropped(_ count: Int, _ output: inout Output) {
        drops += count
        take(server.dropped(count), &output)
        guard !client.isAwaitingAnswer else { return }
        let followed = routes.filter { !$0.value.isOnlyOwn }
        if followed.count == 1, let handle = followed.first?.key {
            for (_, entry) in subscriptions where entry.characteristic?.valueHandle == handle {
                output.tell(.lost(entry.consumer, count))
            }
        }
        // A missing PDU may have been anything.
        guard routes.count == 1, let route = routes.first?.value, route.isOwn else { return }
        servicesChanged(in: 0x0001...0xFFFF, &output)
    }

    /// Routes the values of a handle to a subscriber from now on, after the early ones.
    mutating func addRoute(_ id: Subscription.ID, _ handle: UInt16, _ output: inout Output) {
        guard let consumer = subscriptions[id]?.consumer else { return }
        if subscriptions[id]?.held == nil {
            let values = early.take(handle, now: now)
            if !values.isEmpty {
                // None is left: what comes after this listener has left is not early.
                _ = early.take(handle, now: now)
                subscriptions[id]?.held = HeldValues(values: values, isInDoubt: false)
            }
        }
        if subscriptions[id]?.held == nil {
            routes[handle, default: Route()].open.append(consumer)
        } else {
            routes[handle, default: Route()].held.append(id)
            handOver(id, &output)
        }
    }

    mutating func removeRoute(_ id: Subscription.ID, _ consumer: ValueConsumer, _ handle: UInt16) {
        guard routes[handle] != nil else { return }
        routes[handle]?.open.removeAll { $0 == consumer }
        routes[handle]?.held.removeAll { $0 == id }
        if routes[handle]?.isEmpty == true { routes[handle] = nil }
    }

    /// Starts the delivery of withheld values, unless their owner is in doubt, or it is in progress.
    mutating func handOver(_ id: Subscription.ID, _ output: inout Output) {
        guard let entry = subscriptions[id], let held = entry.held, !held.isInDoubt, !held.isBeingTaken else { return }
        subscriptions[id]?.held?.isBeingTaken = true
        output.tell(.held(entry.consumer, id))
    }

    /// A subscription ends: withheld values are its own, or in doubt and lost.
    func letGo(_ entry: Subscription, _ output: inout Output) {
        guard let held = entry.held else { return }
        if !held.isInDoubt, !held.values.isEmpty, let handle = entry.characteristic?.valueHandle {
            output.deliveries.append(Delivery(handle: handle, consumers: [entry.consumer], values: held.values))
        }
        let lost = held.lost + (held.isInDoubt ? held.values.count : 0)
        if lost > 0 { output.tell(.lost(entry.consumer, lost)) }
    }

    /// The values withheld for a subscriber, and how many were lost after them; `nil` if there are none, so that values
    /// are delivered directly.
    mutating func takeHeld(_ id: Subscription.ID) -> (values: [CharacteristicValue], lost: Int)? {
        guard let entry = subscriptions[id], let held = entry.held else { return nil }
        guard !held.isInDoubt else {
            subscriptions[id]?.held?.isBeingTaken = false
            return nil
        }
        guard held.values.isEmpty, held.lost == 0 else {
            subscriptions[id]?.held?.values = []
            subscriptions[id]?.held?.lost = 0
            return (held.values, held.lost)
        }
        subscriptions[id]?.held = nil
        if let handle = entry.characteristic?.valueHandle, routes[handle]?.held.contains(id) == true {
            routes[handle]?.held.removeAll { $0 == id }
            routes[handle]?.open.append(entry.consumer)
        }
        return nil
    }
}
