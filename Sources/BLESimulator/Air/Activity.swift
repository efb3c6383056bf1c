internal import BLEProtocol
internal import BLERadio

typealias AdapterID = Int
typealias ActivityID = UInt64

/// Something that an adapter was asked to do, and the closure that hears of it.
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

    /// Whether it is over but for the delivery of its last event.
    var isEnding = false
}

/// Something that a closure or receiver is yet to hear, in the order in which it happened.
///
/// Small, since there is one for each link that has news: what is rare and large stands behind a reference.
enum Delivery: Sendable {
    indirect case adapter(ActivityID, AdapterInfo)
    indirect case scan(ActivityID, ScanEvent)
    case connected(ActivityID, LinkEndID)
    indirect case connectFailed(ActivityID, BLEError)
    indirect case listen(ActivityID, ListenEvent)
    case accepted(ActivityID, LinkEndID)
    indirect case advertise(ActivityID, AdvertiseEvent)
    /// Whatever has gathered for one end of a link.
    case link(LinkEndID)
    case pairingAsks(ActivityID, PairingQuestion)
    /// The reception, the pairing that it is about, and who answers.
    indirect case receptionAsks(ActivityID, ActivityID, PairingInterview, PairingQuestion)
    indirect case reception(ActivityID, PairingReceptionEvent)
    indirect case paired(ActivityID, Result<Bond?, BLEError>)
    indirect case encrypted(Result<Void, BLEError>, @Sendable (Result<Void, BLEError>) -> Void)
    indirect case rssi(Int8?, @Sendable (Int8?) -> Void)
    case symptom(AdapterInfo.Symptom, @Sendable (AdapterInfo.Symptom) -> Void)
    /// What takes time is over.
    case done(@Sendable () -> Void)
    indirect case conditions(LinkConditions, @Sendable (LinkConditions) -> Void)
}
