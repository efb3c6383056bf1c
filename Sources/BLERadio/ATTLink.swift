public import BLEProtocol

/// A connection to one peer, reduced to what the Attribute Protocol needs: whole PDUs in both directions.
///
/// The link is open from the moment it is handed over until ``ATTLinkReceiver/linkEnded(_:)`` has been called; that
/// call comes exactly once, also after ``disconnect()``. PDUs that arrived before the end are delivered first.
public protocol ATTLink: AnyObject, Sendable {
    /// The other side's address.
    var peer: BluetoothAddress { get }

    /// This side's address; `nil` if the radio doesn't report it.
    var local: BluetoothAddress? { get }

    /// The largest PDU that the link carries in either direction, in octets; ATT_MTU is never negotiated beyond it.
    var maximumPDUSize: Int { get }

    /// Whether the radio may have resumed a link on which an earlier program's MTU and subscriptions still hold.
    var isResumed: Bool { get }

    /// Starts delivery. The receiver is kept until the link has ended.
    func start(_ receiver: any ATTLinkReceiver)

    /// Hands one PDU to the link; it is taken whole or not at all.
    func send(_ pdu: [UInt8]) -> SendResult

    /// Drops the link as promptly as the radio can. Idempotent.
    func disconnect()

    /// Reads the signal strength of the link in dBm; `nil` if the radio can't measure it.
    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void)

    /// Reads the current conditions of the link.
    ///
    /// - Parameter result: called once, at the latest when the link ends; unknown values are `nil`.
    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void)

    /// Reports the link's conditions after each change that the radio learns of, until the activity is cancelled. The
    /// signal strength changes all the time and is reported only together with another change.
    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity

    /// Requests other connection parameters while the link is up; only the central can do this.
    ///
    /// - Parameter result: called once: with success when the request was sent, or with the error that prevented it.
    ///   ``observeConditions(_:)`` reports the outcome.
    func request(_ parameters: ConnectionParameters, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Encrypts the link with the keys of a bond; a peripheral asks the central to do it (a Security Request).
    ///
    /// - Parameter result: called once: immediately if the link is already encrypted, and at the latest when the link
    ///   ends, or soon if it has ended. There is no time limit here. Until then ``send(_:)`` may refuse PDUs as if the
    ///   buffer were full.
    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Pairs again on an encrypted link, for keys of a higher level than it has; only the central can do this. The
    /// present keys stay in force until the pairing has succeeded.
    ///
    /// - Parameters:
    ///   - level: the lowest level that the new keys must provide.
    ///   - interview: answers the questions of the pairing; released with the activity, and asked nothing after the
    ///     result.
    ///   - result: called once, at the latest when the link ends, unless the activity is cancelled first: with the keys
    ///     to keep, or `nil` if the peer does not bond.
    func raise(
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity

    /// Reports each change of ``security`` that the radio learns of, until the activity is cancelled; a report may come
    /// without a change.
    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity

    /// The link's protection now; after the end, its last protection.
    var security: LinkSecurity { get }

    /// Whether this side has a bond's key that can encrypt the link, as far as the radio knows.
    var hasKey: Bool { get }
}

/// The outcome of handing a PDU to a link.
public enum SendResult: Hashable, Sendable {
    /// The link has taken it.
    case sent
    /// The link's buffer is full: nothing was taken; ``ATTLinkReceiver/linkBecameWritable()`` follows, perhaps only
    /// when much of the buffer is free. The PDU may be handed over again before that.
    case full
    /// The link has ended or is about to; ``ATTLinkReceiver/linkEnded(_:)`` follows if it has not come yet.
    case ended
}

/// Receives what arrives on a link. Called on the radio's context, never concurrently, and must not block.
public protocol ATTLinkReceiver: AnyObject, Sendable {
    /// PDUs arrived, in order: all those of one wake-up. The receiver owns them from then on.
    func linkReceived(_ pdus: consuming ReceivedPDUs)

    /// The radio or kernel dropped this many PDUs since the last call; they are lost.
    func linkDropped(_ count: Int)

    /// A send that was refused with ``SendResult/full`` may be tried again.
    func linkBecameWritable()

    /// The peer asked for encryption or pairing and it failed; the link's protection is unchanged.
    func linkEncryptionFailed(_ error: BLEError)

    /// The peer has had this side pair, without a request of the program's, and there are keys to keep.
    func linkPaired(_ bond: Bond)

    /// The link has ended. This is the last call.
    func linkEnded(_ reason: DisconnectReason)
}

extension ATTLinkReceiver {
    /// Does nothing.
    public func linkEncryptionFailed(_ error: BLEError) {}

    /// Does nothing.
    public func linkPaired(_ bond: Bond) {}
}
