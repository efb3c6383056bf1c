import BLEProtocol
import BLERadio

/// Receives the traffic of a radio's links, and advertisements; called in the radio's context and in callers', and must
/// not block.
protocol TrafficObserver: AnyObject, Sendable {
    typealias LinkID = ATTCapture.LinkID

    /// The last known information on the adapter.
    var adapter: AdapterInfo { get set }

    /// A link has begun; returns `nil` if it is of no interest.
    func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID?
    func linkClosed(_ link: LinkID, _ reason: DisconnectReason)

    /// A link is given up that nobody has used: it came too late for its caller.
    func linkUnused(_ link: LinkID)

    /// A PDU was received; returns whether there was room for it.
    func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool

    /// Sends a PDU with the closure, and records it if it was taken.
    func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool)

    /// PDUs were dropped before they reached the library; ``lost(_:_:)`` says where they are missing, and also counts
    /// those that there was no room for.
    func dropped(_ count: Int)

    /// PDUs are missing; returns whether there was room for that.
    func lost(_ count: Int, _ link: LinkID) -> Bool

    /// The signal strength of a link was measured.
    func measured(_ rssi: Int, _ link: LinkID)

    func reported(_ reports: [AdvertisingReport])
    func reportsLost(_ count: Int)
}

extension TrafficObserver {
    func linkUnused(_ link: LinkID) { linkClosed(link, DisconnectReason(.closedLocally)) }
    func measured(_ rssi: Int, _ link: LinkID) {}
    func dropped(_ count: Int) {}
}
