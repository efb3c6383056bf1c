/// Why a link ended.
///
/// Known reasons are static members; what a radio or kernel reports beyond them is kept in ``hciStatus`` and
/// ``systemError``. Two reasons are equal if their ``kind`` is.
public struct DisconnectReason: Hashable, Sendable {
    /// The reasons that a program can act upon.
    public enum Kind: Hashable, Sendable, CaseIterable {
        /// The peer closed the link.
        case closedByPeer
        /// This host closed the link.
        case closedLocally
        /// Nothing was heard from the peer for the supervision timeout: out of range, or switched off.
        case supervisionTimeout
        /// The link was lost before its sixth connection event, the most common failure on air: try again.
        case failedToEstablish
        /// The peer, or this host, refused to authenticate.
        case authenticationFailed
        /// The peer no longer has the keys of the bond: unpair, then pair again.
        case keyMissing
        /// The adapter was switched off, reset or unplugged.
        case adapterOff
        /// A request was unanswered for 30 seconds; the specification then forbids further use of the bearer.
        case transactionTimeout
        /// The peer violated the Attribute Protocol so that the link can't continue.
        case protocolViolation
        /// Another cause; see ``DisconnectReason/hciStatus`` and ``DisconnectReason/systemError``.
        case other
    }

    /// The kind of reason.
    public var kind: Kind

    /// The HCI status octet, if the radio reports it (Core Specification, Vol 1, Part F).
    public var hciStatus: UInt8? {
        get { status.value }
        set { status.value = newValue }
    }

    /// The `errno` that the kernel reported.
    public var systemError: Int32? {
        get { number.value }
        set { number.value = newValue }
    }

    private var status: Uncompared<UInt8?>
    private var number: Uncompared<Int32?>

    /// Makes a reason, with what the radio or kernel reported.
    public init(_ kind: Kind, hciStatus: UInt8? = nil, systemError: Int32? = nil) {
        self.kind = kind
        status = Uncompared(hciStatus)
        number = Uncompared(systemError)
    }
}

extension DisconnectReason: CustomStringConvertible {
    /// The reason in words, with the numbers where they are known: `closed by the peer (HCI 0x13)`.
    public var description: String {
        var numbers: [String] = []
        if let hciStatus { numbers.append("HCI 0x" + CollectionOfOne(hciStatus).hexDigits) }
        if let systemError { numbers.append("errno \(systemError)") }
        return numbers.isEmpty ? kind.words : "\(kind.words) (\(numbers.joined(separator: ", ")))"
    }
}

extension DisconnectReason.Kind {
    /// The kind in words, as the end of a sentence.
    package var words: String {
        switch self {
        case .closedByPeer: "closed by the peer"
        case .closedLocally: "closed by this host"
        case .supervisionTimeout: "supervision timeout: the peer is out of range or switched off"
        case .failedToEstablish: "the connection failed to be established"
        case .authenticationFailed: "authentication failed"
        case .keyMissing: "the peer has lost the bond"
        case .adapterOff: "the adapter was switched off or removed"
        case .transactionTimeout: "the peer left a request unanswered for 30 s"
        case .protocolViolation: "the peer broke the Attribute Protocol"
        case .other: "another cause"
        }
    }
}
