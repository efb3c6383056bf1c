public import BLEProtocol

/// A connection to one peer, reduced to what the Attribute Protocol needs: whole PDUs in both directions.
///
/// The link is open from the moment it is handed over until ``ATTLinkReceiver/linkEnded(_:)`` has been called; that
/// call comes exactly once, also after ``disconnect()``. PDUs that arrived before the end are delivered first.
public protocol ATTLink: AnyObject, Sendable {
    /// The other side's address.
    var peer: BluetoothAddress { get }

    /// This side's address; `nil` where the radio doesn't tell.
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

    /// Asks for the signal strength of the link in dBm; `nil` where the radio can't tell.
    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void)

    /// Asks what the link is like now.
    ///
    /// - Parameter result: is called once, at the latest when the link ends; what isn't known is `nil`.
    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void)

    /// Tells what the link is like whenever that has changed, as far as the radio hears of it, until the activity is
    /// cancelled. How strong it is changes all the time, and is told with something else.
    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity

    /// Asks for other connection parameters while the link is up; the central's call.
    ///
    /// - Parameter result: is called once: that they were asked for, or why they couldn't be. What becomes of the wish,
    ///   ``observeConditions(_:)`` tells.
    func request(_ parameters: ConnectionParameters, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Encrypts the link with the keys of a bond; a peripheral asks the central to do it (a Security Request).
    ///
    /// - Parameter result: Is called once: at once where the link is encrypted already, and at the latest when the link
    ///   ends. There is no time limit here. While it is pending ``send(_:)`` may refuse PDUs as it does when it is full.
    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Pairs anew on a link that is encrypted, for keys of a higher level than it has; the central's call. The keys that there
    /// are hold until it has succeeded.
    ///
    /// - Parameters:
    ///   - level: what the new keys must be good for, at least.
    ///   - interview: who answers what the pairing asks; let go of with the activity, and asked nothing after the result.
    ///   - result: is called once, at the latest when the link ends, unless the activity is cancelled before: with the keys
    ///     that are worth keeping, `nil` where the peer does not bond.
    func raise(
        to level: SecurityLevel,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity

    /// Tells that ``security`` may have changed, as far as the radio hears of it, until the activity is cancelled.
    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity

    /// How the link is secured now; once it has ended, how it was last.
    var security: LinkSecurity { get }

    /// Whether this side has a key of a bond with the peer, as far as the radio knows: one that would encrypt the link.
    var hasKey: Bool { get }
}

/// What became of a PDU that was handed to a link.
public enum SendResult: Hashable, Sendable {
    /// The link has taken it.
    case sent
    /// The link's buffer is full: nothing was taken; ``ATTLinkReceiver/linkBecameWritable()`` follows.
    case full
    /// The link has ended or is about to; ``ATTLinkReceiver/linkEnded(_:)`` follows if it has not come yet.
    case ended
}

/// Who takes what arrives on a link. Called on the radio's context, never concurrently, and must not block.
public protocol ATTLinkReceiver: AnyObject, Sendable {
    /// PDUs arrived, in order: all that one wake-up brought. They are the receiver's from then on.
    func linkReceived(_ pdus: consuming ReceivedPDUs)

    /// The radio or kernel dropped PDUs since the last call, as many as it says; they can't be had again.
    func linkDropped(_ count: Int)

    /// A send that was refused with ``SendResult/full`` may be tried again.
    func linkBecameWritable()

    /// The peer wanted the link encrypted, or to pair, and nothing came of it: the link is protected as before.
    func linkEncryptionFailed(_ error: BLEError)

    /// The link is over. The last call.
    func linkEnded(_ reason: DisconnectReason)
}

extension ATTLinkReceiver {
    /// Takes no note of it.
    public func linkEncryptionFailed(_ error: BLEError) {}
}
