/// Turns the kernel's running total of lost datagrams into the number lost since the last call.
///
/// A datagram carries the total of when it was queued, so a loss behind the last one shows only in the total that the
/// socket is asked for. That total may be ahead of those of datagrams that are still to be read.
struct DropCounter {
    /// The total of the last datagram.
    private var total: UInt32 = 0
    /// How many beyond that total are counted already.
    private var ahead: UInt32 = 0
    /// Whether the queue may have overflowed since the socket was last asked, so that events behind the last one may be
    /// missing: ask it when the queue is empty.
    private(set) var mayLackEnd = false

    /// So many datagrams were read together.
    mutating func hasRead(_ count: Int) { if count == ReceiveBuffer.slots { mayLackEnd = true } }

    /// The number lost since the last call, by the total of a datagram. The total wraps around, and so does the
    /// difference.
    mutating func lost(upTo newTotal: UInt32?) -> Int {
        guard let newTotal else { return 0 }
        let step = newTotal &- total
        let counted = min(step, ahead)
        total = newTotal
        ahead -= counted
        return Int(step - counted)
    }

    /// The number lost since the last call, by the total that the socket was asked for.
    mutating func lost(byNow newTotal: UInt32?) -> Int {
        mayLackEnd = false
        guard let newTotal, newTotal &- total > ahead else { return 0 }
        let lost = newTotal &- total - ahead
        ahead += lost
        return Int(lost)
    }
}
