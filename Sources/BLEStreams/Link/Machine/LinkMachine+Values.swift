import BLEProtocol

/// The path of a value: from its handle to its consumers, or to the buffer where it waits for them.
extension LinkMachine {
    /// Delivers consecutive values.
    mutating func take(_ values: [CharacteristicValue], of handle: UInt16, _ output: inout Output) {
        guard let route = routes[handle] else {
            for value in values { early.keep(value, of: handle, now: now) }
            if handle == rememberedChange { keepChanges(values, &output) }
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
    /// awaited, they were its values; otherwise it is unknown what they were: then they count as nobody's, and each
    /// subscriber is told that its values may have a hole here. Service Changed, which the link itself subscribes to,
    /// comes next to never, and doesn't count beside a characteristic of the program. They may also have been what the
    /// peer writes to the attributes of this device.
    mutating func dropped(_ count: Int, _ output: inout Output) {
        drops += count
        take(server.dropped(count), &output)
        early.lost()
        let followed = routes.filter { !$0.value.isOnlyOwn }
        let only = followed.count == 1 && !client.isAwaitingAnswer ? followed.first?.key : nil
        for (id, entry) in subscriptions {
            guard let handle = entry.characteristic?.valueHandle, !entry.awaitsSwitchOff else { continue }
            guard let only else {
                lose(nil, of: id, entry, &output)
                continue
            }
            if handle == only { lose(count, of: id, entry, &output) }
        }
        // A missing PDU may have been anything.
        guard !client.isAwaitingAnswer, routes.count == 1, let route = routes.first?.value, route.isOwn else { return }
        servicesChanged(in: 0x0001...0xFFFF, &output)
    }

    /// Values of a subscriber are missing behind those that it has been sent, or that are withheld for it.
    ///
    /// - Parameter count: how many; `nil` if it is unknown whether they are its own.
    private mutating func lose(_ count: Int?, of id: Subscription.ID, _ entry: Subscription, _ output: inout Output) {
        if let held = entry.held {
            let loss = Loss(position: held.values.count, dropped: count ?? 0, mayLackMore: count == nil)
            subscriptions[id]?.held?.losses.add(loss)
        } else if let count {
            output.tell(.lost(entry.consumer, count))
        } else {
            output.tell(.mayLack(entry.consumer))
        }
    }

    /// The peer's services have changed, and it may have sent nothing until this side has learned of that: whoever it
    /// was sending values is told. What is held in doubt is told once it is known to go on.
    mutating func withheld(_ output: inout Output) {
        early.withheld()
        for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key }) {
            guard let characteristic = entry.characteristic, entry.knowsThatArmed || entry.wasSent else { continue }
            hold(id, entry)
            subscriptions[id]?.held?.losses.add(Loss(position: entry.held?.values.count ?? 0, isWithheld: true))
            guard entry.held?.isInDoubt != true else { continue }
            handOver(id, &output)
            output.tell(.registered(entry.consumer, characteristic))
        }
    }

    /// Withholds the values of a subscriber from now on.
    mutating func hold(_ id: Subscription.ID, _ entry: Subscription) {
        guard entry.held == nil else { return }
        subscriptions[id]?.held = HeldValues(isInDoubt: false)
        guard let handle = entry.characteristic?.valueHandle,
            routes[handle]?.open.contains(entry.consumer) == true
        else { return }
        routes[handle]?.open.removeAll { $0 == entry.consumer }
        routes[handle]?.held.append(id)
    }

    /// Routes the values of a handle to a subscriber from now on, after the early ones.
    ///
    /// - Parameter wasSent: whether the peer may have sent values of it before.
    mutating func addRoute(_ id: Subscription.ID, _ handle: UInt16, wasSent: Bool, _ output: inout Output) {
        guard let consumer = subscriptions[id]?.consumer else { return }
        if subscriptions[id]?.held == nil {
            let held = early.take(all: handle, wasSent: wasSent, now: now)
            subscriptions[id]?.held = held
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
        guard var held = entry.held else { return }
        if held.isInDoubt { held.giveUp() }
        var isFirst = true
        while let part = held.take() {
            if isFirst, !part.values.isEmpty, let handle = entry.characteristic?.valueHandle {
                output.deliveries.append(Delivery(handle: handle, consumers: [entry.consumer], values: part.values))
            } else if !part.values.isEmpty {
                // Behind what is missing before them.
                output.tell(.values(entry.consumer, part.values))
            }
            isFirst = false
            if part.lost > 0 { output.tell(.lost(entry.consumer, part.lost)) }
            if part.mayLackMore { output.tell(.mayLack(entry.consumer)) }
            if part.isWithheld { output.tell(.withheld(entry.consumer)) }
        }
    }

    /// The values withheld for a subscriber up to the first place where some are missing; `nil` if there are none, so
    /// that values are delivered directly.
    mutating func takeHeld(_ id: Subscription.ID) -> HeldPart? {
        guard let entry = subscriptions[id], let held = entry.held else { return nil }
        guard !held.isInDoubt else {
            subscriptions[id]?.held?.isBeingTaken = false
            return nil
        }
        if let part = subscriptions[id]?.held?.take() { return part }
        subscriptions[id]?.held = nil
        if let handle = entry.characteristic?.valueHandle, routes[handle]?.held.contains(id) == true {
            routes[handle]?.held.removeAll { $0 == id }
            routes[handle]?.open.append(entry.consumer)
        }
        return nil
    }
}
