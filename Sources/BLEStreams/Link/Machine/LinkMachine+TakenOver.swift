import BLEProtocol

/// What the peer sends on a link that was taken over from an earlier program.
///
/// That program's subscriptions still hold, and what the peer has sent between the two programs is lost. So the first
/// value of a subscription may be the rest of a message, also if it comes long after that was made: the peer may pause
/// between two chunks. Only its configuration tells.
extension LinkMachine {
    /// Asks the peer, in the turn of a subscription, whether it sends the characteristic's values already, unless that
    /// is known.
    ///
    /// - Returns: whether the subscription waits for the answer.
    mutating func asks(about found: Characteristic, for id: OperationID, _ output: inout Output) -> Bool {
        let handle = found.valueHandle
        // A value that has come tells, and who has subscribed before has asked.
        guard let index = index(of: id), !operations[index].hasRepeated, early.timeLeft(now: now) != nil,
            unclaimed.handles[handle] == nil, !table.hasEntry(handle),
            !found.properties.isDisjoint(with: [.notify, .indicate])
        else { return false }
        guard let descriptor = found.clientConfiguration?.handle else {
            // It sends them without being asked to.
            unclaimed.handles[handle] = found.uuid
            return false
        }
        run(ReadValue(handle: descriptor), id, &output)
        return true
    }

    /// The peer has answered: the subscription is made. If the services may have changed before that, it is asked again
    /// once they are known.
    mutating func told(_ index: Int, _ result: Result<GATTSuccess, LinkFailure>, _ output: inout Output) {
        // With the link, all subscriptions end.
        guard end == nil, closeReason == nil else { return }
        let id = operations[index].id
        operations[index].stage = .waiting
        var failure: GATTFailure?
        if case .failure(.procedure(let reason, _)) = result { failure = reason }
        if failure != .databaseChanged {
            operations[index].hasRepeated = true
            let value = (try? result.get())?.value(as: [UInt8].self)
            // One that refuses to tell may send them.
            if value?.allSatisfy({ $0 == 0 }) != true { goesOn(for: id, &output) }
        }
        if failure?.isOutOfSync == true { outOfSync(&output) }
        find(id, &output)
    }

    /// The peer may send what a subscription is about to ask for.
    private mutating func goesOn(for id: OperationID, _ output: inout Output) {
        guard let index = index(of: id), case .subscribe(let subscriber) = operations[index].target.content,
            let entry = subscriptions[subscriber],
            let found = try? entry.selector.find(in: tracker.current ?? chosen.database).get()
        else { return }
        if table.hasEntry(found.valueHandle) {
            // Another one has subscribed meanwhile, and has got what came early.
            output.tell(.mayLack(entry.consumer))
        } else {
            unclaimed.handles[found.valueHandle] = found.uuid
        }
    }
}
