import BLEProtocol

/// What the peer sends on a link that was taken over from an earlier program.
///
/// That program's subscriptions still hold, and what the peer has sent between the two programs is lost. So the first
/// value of a subscription may be the rest of a message, also if it comes long after that was made: the peer may pause
/// between two chunks. Only its configuration tells.
extension LinkMachine {
    /// Whether the peer must be asked if it sends a characteristic's values already, before these are subscribed to.
    ///
    /// - Parameter index: that of the subscription's operation, which has not asked yet.
    func mustAsk(about found: Characteristic, _ index: Int) -> Bool {
        guard !operations[index].hasRepeated, early.timeLeft(now: now) != nil else { return false }
        // A value that has come tells, and who has subscribed before has asked.
        let handle = found.valueHandle
        return unclaimed.handles[handle] == nil && !table.hasEntry(handle) && found.clientConfiguration != nil
    }

    /// Asks, in the turn of a subscription.
    mutating func ask(about found: Characteristic, for id: OperationID, _ output: inout Output) {
        guard let descriptor = found.clientConfiguration?.handle else { return }
        run(ReadValue(handle: descriptor), id, &output)
    }

    /// The peer has answered: the subscription is made. One that doesn't tell, or whose services may have changed
    /// meanwhile, may send them.
    mutating func told(_ index: Int, _ result: Result<GATTSuccess, LinkFailure>, _ output: inout Output) {
        // With the link, all subscriptions end.
        guard end == nil, closeReason == nil else { return }
        let id = operations[index].id
        operations[index].hasRepeated = true
        operations[index].stage = .waiting
        if case .failure(.procedure(let failure, _)) = result, failure.isOutOfSync { outOfSync(&output) }
        let value = (try? result.get())?.value(as: [UInt8].self)
        if value?.allSatisfy({ $0 == 0 }) != true, let selector = selector(of: id),
            let found = try? selector.find(in: tracker.current ?? chosen.database).get()
        {
            unclaimed.handles[found.valueHandle] = found.uuid
        }
        find(id, &output)
    }
}
