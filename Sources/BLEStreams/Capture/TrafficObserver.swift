import BLEProtocol
import BLERadio

/// Hears of what the links of a radio carry, and of who advertises; called on the radio's context and on callers', and
/// must not block.
protocol TrafficObserver: AnyObject, Sendable {
    typealias LinkID = ATTCapture.LinkID

    /// The adapter, as it was told last.
    var adapter: AdapterInfo { get set }

    /// A link has begun; `nil` where nothing of it is of interest.
    func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID?
    func linkClosed(_ link: LinkID, _ reason: DisconnectReason)

    /// A PDU has come; whether there was room for it.
    func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool

    /// Hands a PDU over by the closure, and notes it where it was taken.
    func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool)

    /// PDUs are missing; whether there was room for that.
    func lost(_ count: Int, _ link: LinkID) -> Bool

    /// The signal strength of a link was measured.
    func measured(_ rssi: Int, _ link: LinkID)

    func reported(_ reports: [AdvertisingReport])
    func reportsLost(_ count: Int)
}

extension TrafficObserver {
    func measured(_ rssi: Int, _ link: LinkID) {}
}
