internal import BLEProtocol
internal import BLERadio

typealias AdapterID = Int
typealias ActivityID = UInt64

/// An adapter's activity, and the closure that is told about it.
struct Activity: Sendable {
    enum Kind: Sendable {
        case observe(@Sendable (AdapterInfo) -> Void)
        case scan(ScanRequest, @Sendable (ScanEvent) -> Void)
        case connect(BluetoothAddress, @Sendable (Result<any ATTLink, BLEError>) -> Void)
        case listen(@Sendable (ListenEvent) -> Void)
        case advertise(AdvertiseRequest, @Sendable (AdvertiseEvent) -> Void)
        case pair(SimulatedPairing)
        case receivePairings(PairingReception, @Sendable (PairingReceptionEvent) -> Void)
    }

    var adapter: AdapterID
    var kind: Kind

    /// Whether it is over except for the delivery of its last event.
    var isEnding = false
}

/// An event not yet delivered to its closure or receiver; deliveries keep the order of the events.
///
/// It is small, since there is one for each link that has news; rare and large cases are stored indirectly.
enum Delivery: Sendable {
    indirect case adapter(ActivityID, AdapterInfo)
    indirect case scan(ActivityID, ScanEvent)
    case connected(ActivityID, LinkEndID)
    indirect case connectFailed(ActivityID, BLEError)
    indirect case listen(ActivityID, ListenEvent)
    case accepted(ActivityID, LinkEndID)
    indirect case advertise(ActivityID, AdvertiseEvent)
    /// Everything that has gathered for one end of a link.
    case link(LinkEndID)
    case pairingAsks(ActivityID, PairingQuestion)
    /// The reception, its pairing, and the interview that answers.
    indirect case receptionAsks(ActivityID, ActivityID, PairingInterview, PairingQuestion)
    indirect case reception(ActivityID, PairingReceptionEvent)
    indirect case paired(ActivityID, Result<Bond?, BLEError>)
    indirect case encrypted(Result<Void, BLEError>, @Sendable (Result<Void, BLEError>) -> Void)
    indirect case rssi(Int8?, @Sendable (Int8?) -> Void)
    case symptom(AdapterInfo.Symptom, @Sendable (AdapterInfo.Symptom) -> Void)
    /// A step that takes time is over.
    case done(@Sendable () -> Void)
    indirect case conditions(LinkConditions, @Sendable (LinkConditions) -> Void)
}
