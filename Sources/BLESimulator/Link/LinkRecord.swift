internal import BLEProtocol
internal import BLERadio

/// One end of one link.
struct LinkEndID: Hashable, Sendable {
    var link: LinkID
    var role: LinkRole
}

/// A link as the air sees it. Confined to the air's lock.
///
/// An idle link costs this object and no timer: nothing is scheduled before somebody sends.
final class LinkRecord {
    let id: LinkID
    var timing: LinkTiming
    /// The time of a past connection event, or of the first one.
    var anchor: Duration
    let maximumPDUSize: Int

    let central: LinkEnd
    let peripheral: LinkEnd

    /// The time of the connection event that is in the agenda.
    var eventDue: Duration?

    /// The protection that the two ends have established.
    var security = LinkSecurity.none

    /// The observers of changes of the protection.
    var securityObservers = Observers<@Sendable () -> Void>()

    /// The callers that wait for the link to be encrypted.
    var encryptions: [AirState.Encrypted] = []

    /// The observers of changes of the timing.
    var conditionObservers: [(id: UInt64, role: LinkRole, events: @Sendable (LinkConditions) -> Void)] = []

    /// Whether nothing arrives: out of range, or one side is gone.
    var isSilent = false

    /// Whether nothing ever arrives on it, because of the fault plan.
    var isUnestablished = false

    /// Whether the fault plan has a time at which it is lost.
    var hasPlannedLoss = false

    /// Connection events without an answer after which a new link counts as never established.
    static let eventsToEstablish = 6

    /// Distinguishes the current entry for the supervision timeout from stale ones.
    var silences: UInt32 = 0

    /// How many PDUs each rule of the fault plan has counted on this link.
    var faultCounts: [FaultID: Int] = [:]

    /// PDUs that the fault plan holds back until others have overtaken them.
    var held: [HeldPDU] = []

    init(
        id: LinkID,
        timing: LinkTiming,
        anchor: Duration,
        maximumPDUSize: Int,
        central: LinkEnd,
        peripheral: LinkEnd
    ) {
        self.id = id
        self.timing = timing
        self.anchor = anchor
        self.maximumPDUSize = maximumPDUSize
        self.central = central
        self.peripheral = peripheral
    }

    subscript(role: LinkRole) -> LinkEnd { role == .central ? central : peripheral }

    /// Whether something arrives.
    var carries: Bool { !isSilent && !isUnestablished }

    /// Whether nobody needs the record any more.
    var isForgotten: Bool { central.isGone && peripheral.isGone }
}

/// One side of a link. Confined to the air's lock.
final class LinkEnd {
    enum Phase {
        case open
        /// This side has requested the end, which comes with the next connection event.
        case closing
        /// Over; the receiver has not been told yet.
        case ended(DisconnectReason)
        /// Over; the receiver has been told, or there is none.
        case gone
    }

    let adapter: AdapterID
    /// The address by which this side knows the other.
    let peer: BluetoothAddress
    let sendBufferSize: Int
    let receiveBufferCount: Int
    var phase = Phase.open

    /// Whether this end has an owner, or will have one; if not, what arrives is discarded.
    var isOwned = true
    /// Whether the owner has the object that stands for this end.
    var isHeld = false
    var isStarted = false
    var receiver: (any ATTLinkReceiver)?
    var outgoing = PDUQueue()

    /// What is not yet delivered to the receiver.
    var inbox = Inbox()
    var isBlocked = false
    var isWritableAgain = false
    /// An array since there is rarely any: an error takes more memory than the rest of an idle end.
    var encryptionFailures: [BLEError] = []
    var isDeliveryQueued = false

    init(adapter: AdapterID, _ settings: AdapterSettings, peer: BluetoothAddress) {
        self.adapter = adapter
        self.peer = peer
        sendBufferSize = settings.sendBufferSize
        receiveBufferCount = settings.receiveBufferCount
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    var isClosing: Bool { if case .closing = phase { true } else { false } }

    var isGone: Bool { if case .gone = phase { true } else { false } }

    /// Whether the link is over on this side.
    var isOver: Bool {
        switch phase {
        case .open, .closing: false
        case .ended, .gone: true
        }
    }
}

/// PDUs that wait for connection events.
struct PDUQueue {
    /// What the kernel's bookkeeping adds to each PDU in a send buffer, in octets.
    static let overhead = 223

    private var pdus: [[UInt8]] = []
    private var head = 0

    /// The octets of the first PDU's frame that have been sent.
    private var sent = 0

    /// The room that the PDUs take in the send buffer.
    private(set) var size = 0

    var isEmpty: Bool { head == pdus.count }

    mutating func append(_ pdu: [UInt8]) {
        pdus.append(pdu)
        size += pdu.count + Self.overhead
    }

    /// The payload of the next link layer packet; 0 if nothing waits.
    func nextPacket(_ dataLength: Int) -> Int {
        isEmpty ? 0 : min(dataLength, pdus[head].count + L2CAP.headerSize - sent)
    }

    /// Sends a packet. Returns the PDU that it completes.
    mutating func send(packet: Int) -> [UInt8]? {
        sent += packet
        guard sent >= pdus[head].count + L2CAP.headerSize else { return nil }
        return popFirst()
    }

    mutating func popFirst() -> [UInt8]? {
        guard !isEmpty else { return nil }
        let pdu = pdus[head]
        pdus[head] = []
        head += 1
        sent = 0
        size -= pdu.count + Self.overhead
        if head == pdus.count {
            pdus.removeAll(keepingCapacity: pdus.capacity <= 16)
            head = 0
        } else if head >= 256, head * 2 >= pdus.count {
            pdus.removeFirst(head)
            head = 0
        }
        return pdu
    }

    mutating func removeAll() { self = PDUQueue() }
}
