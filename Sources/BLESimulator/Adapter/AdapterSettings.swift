public import BLEProtocol

/// How a simulated adapter behaves. Changes apply to activities that begin after them.
public struct AdapterSettings: Hashable, Sendable {
    /// The time between two advertising events, to which the specification adds a random 0 to 10 ms each time
    /// (Core Specification, Vol 6, Part B, 4.4.2.2).
    public var advertisingInterval: Duration

    /// The timing of links that this adapter makes, as their central.
    public var linkTiming: LinkTiming

    /// The largest PDU that a link carries, in octets; a link uses the smaller of both sides' sizes. Linux: 672.
    public var maximumPDUSize: Int

    /// The room for PDUs that wait to be sent on one link, in octets, each PDU counted with 223 octets on top.
    ///
    /// The default holds 76 PDUs of 512 octets or 230 of 20, as Linux 6.12 does.
    public var sendBufferSize: Int

    /// How many PDUs a link keeps until its owner calls `start`; further ones are dropped and counted.
    public var receiveBufferCount: Int

    /// How many centrals may be connected to it at once. At that number its connectable advertising pauses, and resumes
    /// automatically; cheap controllers manage only one.
    public var maximumCentrals: Int

    /// Whether it can be central and peripheral at once. If not, its attempts to connect wait while a central is
    /// connected to it, and its connectable advertising is off the air while it has a link as central; what begins
    /// meanwhile fails with ``BLEError/Code/busy``.
    public var combinesRoles: Bool

    /// How many peripherals it may be connected to at once, as their central. A further one fails when it answers, with
    /// ``BLEError/Code/connectionFailed`` and the status 0x09, Connection Limit Exceeded (Core Specification, Vol 1,
    /// Part F, 2.9); controllers manage 3 to 20, and don't report their limit.
    public var maximumPeripherals: Int

    /// Whether ``SimulatedAdapter/reset(result:)`` can reset it, as with a USB controller.
    public var canBeReset: Bool

    /// The PHYs that its controller supports, always including 1M.
    public var phys: Set<LinkConditions.PHY>

    /// Whether it accepts the pairing of a central.
    public var acceptsPairing: Bool

    /// What it does when a central pairs with it; with ``PairingManner/justWorks`` the program of a peripheral served
    /// on it answers.
    public var pairing: PairingManner

    /// Makes settings; the defaults are as on Linux, except that advertising is ten times as frequent.
    public init(
        advertisingInterval: Duration = .milliseconds(100),
        linkTiming: LinkTiming = .linux,
        maximumPDUSize: Int = 672,
        sendBufferSize: Int = 56_000,
        receiveBufferCount: Int = 300,
        maximumCentrals: Int = 1,
        combinesRoles: Bool = true,
        maximumPeripherals: Int = .max,
        canBeReset: Bool = true,
        phys: Set<LinkConditions.PHY> = [.le1M, .le2M],
        acceptsPairing: Bool = true,
        pairing: PairingManner = .justWorks
    ) {
        precondition(advertisingInterval > .zero, "the advertising interval must be positive")
        precondition(maximumPDUSize >= 23, "the largest PDU has at least 23 octets, the smallest ATT_MTU")
        self.advertisingInterval = advertisingInterval
        self.linkTiming = linkTiming
        self.maximumPDUSize = maximumPDUSize
        self.sendBufferSize = sendBufferSize
        self.receiveBufferCount = receiveBufferCount
        self.maximumCentrals = maximumCentrals
        self.combinesRoles = combinesRoles
        self.maximumPeripherals = maximumPeripherals
        self.canBeReset = canBeReset
        self.phys = phys
        self.acceptsPairing = acceptsPairing
        self.pairing = pairing
    }
}
