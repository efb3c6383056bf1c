internal import BLEProtocol
internal import BLERadio

/// The PDUs that have arrived at one end of a link and are not yet delivered, and where others were dropped among them.
struct Inbox {
    /// What arrived behind the last loss.
    private(set) var pdus = ReceivedPDUs()
    /// What arrived before each loss, and how many PDUs were lost there.
    private(set) var losses: [(before: ReceivedPDUs, count: Int)] = []

    /// How many PDUs wait.
    var count: Int { losses.reduce(pdus.count) { $0 + $1.before.count } }

    mutating func append(_ pdu: [UInt8], time: ReceptionTime) { pdus.append(pdu, time: time) }

    /// A PDU was dropped here.
    mutating func lose() {
        if pdus.isEmpty, let last = losses.indices.last {
            losses[last].count += 1
        } else {
            losses.append((pdus, 1))
            pdus = ReceivedPDUs()
        }
    }

    /// Delivers everything, each loss where it happened, as the kernel reports it with the PDU behind it.
    func deliver(to receiver: any ATTLinkReceiver) {
        for (before, count) in losses {
            if !before.isEmpty { receiver.linkReceived(before) }
            receiver.linkDropped(count)
        }
        if !pdus.isEmpty { receiver.linkReceived(pdus) }
    }
}
