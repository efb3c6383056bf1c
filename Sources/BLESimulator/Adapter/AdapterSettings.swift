public import BLEProtocol

/// How a simulated adapter behaves. Changes hold for what begins after them.
public struct AdapterSettings: Hashable, Sendable {
    /// The time between two advertising events, to which the specification adds a random 0 to 10 ms each time
    /// (Core Specification, Vol 6, Part B, 4.4.2.2).
    public var advertisingInterval: Duration

    /// The timing of links that this adapter makes, as their central.
    public var linkTiming: LinkTiming

    /// The largest PDU that a link carries, in octets; a link has the smaller of both sides'. Linux: 672.
    public var maximumPDUSize: Int

    /// The room for PDUs that wait to be sent on one link, in octets, each PDU counted with 223 octets on top.
    ///
    /// The default holds 76 PDUs of 512 octets or 230 of 20, as Linux 6.12 does.
    public var sendBufferSize: Int

    /// How many PDUs a link keeps for an owner that has not yet called `start`; the rest is dropped and counted.
    public var receiveBufferCount: Int

    /// How many centrals may be connected to it at once. With so many its connectable advertising pauses, and comes back by
    /// itself; cheap controllers manage one only.
    public var maximumCentrals: Int

    /// Whether it can be central and peripheral at once. One that can't connects to nobody while a central is connected to it:
    /// what it wants to connect to waits. While it has a link as central, its connectable advertising is off the air.
    public var combinesRoles: Bool

    /// How many peripherals it may be connected to at once, as their central. One more is refused when it answers, with
    /// ``BLEError/Code/connectionFailed`` and the status 0x09, Connection Limit Exceeded (Core Specification, Vol 1,
    /// Part F, 2.9); controllers manage 3 to 20, and don't say how many.
    public var maximumPeripherals: Int

    /// Whether it can be reset by ``SimulatedAdapter/reset(result:)``, as controllers can that are USB devices.
    public var canBeReset: Bool

    /// The modulations that its controller can do; 1M it always can.
    public var phys: Set<LinkConditions.PHY>

    /// Whether it lets a central pair with it.
    public var acceptsPairing: Bool

    /// What it does when a central pairs with it; at ``PairingManner/justWorks`` a peripheral that is served on it answers as
    /// its program says.
    public var pairing: PairingManner

    /// Makes settings; what isn't given is as on Linux, except that advertising is ten times as frequent.
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
        precondition(advertisingInterval > .zero, "advertising needs time")
        precondition(maximumPDUSize >= 23, "no PDU below the smallest ATT_MTU")
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
