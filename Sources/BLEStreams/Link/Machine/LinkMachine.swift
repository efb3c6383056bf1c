import BLEProtocol

/// All decisions on one link, as a value without I/O: who may use it, what is known about the peer's attributes, what
/// the program wants of them, who gets which values, and which PDU leaves when.
///
/// ```
///   the program                                        the peer
///       │ begin, cancel                                    ▲ │ PDUs
///       ▼                                                  │ ▼
///   the lane ─► found? ─► secure enough? ─► client half ─► the turn to send
///               database                    server half ─►
///       ▲         │ tells of changes                         │ values
///       │         ▼                                          ▼
///   subscriptions: one write for all who want a characteristic, a route for each
/// ```
/// Each part is a machine of its own; this one connects them. Calls, PDUs, timers and answers go in; what to do comes
/// out in one ``Output``, as names and not as closures. Its driver is the ``Bearer``.
struct LinkMachine: Sendable {
    /// An operation of the program, from its beginning to its end; later ones have greater numbers.
    typealias OperationID = Int
    /// The number of the hold to which an operation belongs.
    typealias Pass = LaneOrder.ID

    // The two halves of the Attribute Protocol, and the way out of both.
    var client: GATTClient
    var server: ATTServer
    var turn = SendingTurn()
    /// The purposes of the client half's procedures, the oldest first: they end in about this order, so the search is
    /// short.
    var purposes: [(id: GATTClient.ProcedureID, purpose: Purpose)] = []

    // Operations, and who may use the link.
    var lane = LaneOrder()
    var operations: [Operation] = []
    var lastOperation: OperationID = 0

    // What is known of the peer's attributes.
    var tracker: DatabaseTracker
    /// All services as they were when they were last known on this link, even if they were forgotten since.
    var lastKnown: GATTDatabase?
    /// What was discovered of chosen services, as long as nothing else is known.
    var chosen = ChosenServices()
    /// The searches in progress, by the tracker's number.
    var searches: SmallTable<Int, GATTClient.ProcedureID> = [:]
    /// Whether this link has changed what is remembered of the services.
    var hasChangedMemory = false

    // Who is sent which values.
    var subscriptions: SmallTable<Subscription.ID, Subscription> = [:]
    var lastSubscription: Subscription.ID = LinkMachine.own
    var table = SubscriptionTable()
    var routes: SmallTable<UInt16, Route> = [:]
    var early: EarlyValues
    var unclaimed = Unclaimed()
    /// The handle at which Service Changed was subscribed to, and whether that was after the last change; in a
    /// remembered database, the handle at which it is listened for before that.
    var serviceChanged: (handle: UInt16, isFresh: Bool)?
    /// How often the link had been raised when the peer refused that subscription, since the link wasn't secure enough;
    /// `nil` if it hasn't.
    var refusedServiceChanged: Int?
    /// Where Service Changed was on the last link, and what the peer has told there before anybody listened: it tells
    /// that only once, however long before.
    let rememberedChange: UInt16?
    var toldChange: ClosedRange<UInt16>?
    /// The number of subscribers that have left, and wait for their turn in the lane.
    var leaving = 0
    /// Whether to tell when nothing is in progress for a subscription any more.
    var wantsQuiet = false

    // How the link is protected.
    /// The security that the program demands before certain characteristics are used.
    var demands = SecurityDemands()
    /// How often the link was raised: what was refused before may be allowed now.
    var rises = 0
    var lastRaise: RaiseID = 0
    /// The last raise, and the number of the last procedure, that were begun before handles came into doubt: what was
    /// found for them, and for those before them, may mean something else.
    var doubted: (raise: RaiseID, procedure: UInt64) = (0, 0)
    /// Writes of configurations that wait for the link to be raised.
    var raising: SmallTable<RaiseID, RefusedConfiguration> = [:]

    // The beginning and the end.
    /// The time, kept up while a value may be early.
    var now = Duration.zero
    /// Whether anything has been received.
    var hasReceived = false
    var end: DisconnectReason?
    /// Why this side gave up the bearer; the radio will only report that it was closed locally.
    var closeReason: DisconnectReason?
    /// Why nobody can subscribe any more: the link has ended, or this side is closing it.
    var closedToSubscribers: DisconnectReason?
    /// The number of PDUs that the radio or the kernel has dropped.
    var drops = 0
    /// How many subscriptions were made anew elsewhere, since the services had changed.
    var moves = 0
    /// The number of unexpected PDUs of the peer.
    var ignored = 0

    /// - Parameters:
    ///   - maximumMTU: what Exchange MTU proposes, in octets.
    ///   - servedClient: what is known about the peer as a client of our own attributes.
    ///   - remembered: the peer's services on the last link.
    ///   - tellsLater: whether the peer reports services that it changed while there was no link.
    ///   - isResumed: whether an earlier program has used the link.
    init(
        maximumMTU: Int,
        servedClient: ServerClient,
        remembered: RememberedDatabase?,
        tellsLater: Bool = false,
        isResumed: Bool = false
    ) {
        client = GATTClient(maximumMTU: maximumMTU, isResumed: isResumed)
        server = ATTServer(maximumMTU: maximumMTU, client: servedClient)
        early = EarlyValues(isResumed: isResumed)
        tracker = DatabaseTracker(remembered: remembered, tellsLater: tellsLater)
        rememberedChange = remembered?.database.serviceChanged?.valueHandle
    }

    /// The link has begun.
    ///
    /// - Parameter kept: what the peer may have been subscribed to since an earlier link.
    mutating func begin(now: Duration, kept: [KeptSubscription] = [], _ output: inout Output) {
        self.now = now
        early.begin(now: now)
        expect(kept, &output)
    }

    /// Requests and commands wait while the link is being raised.
    mutating func hold(_ isRaising: Bool, rises: Int) {
        client.isHeld = isRaising
        self.rises = rises
    }

    /// This side gives up the link.
    mutating func close(_ reason: DisconnectReason) {
        if closeReason == nil { closeReason = reason }
        server.isGivenUp = true
    }

    /// The link has ended: everything in progress ends with the reason.
    ///
    /// - Returns: why it has really ended.
    mutating func ended(_ reason: DisconnectReason, _ output: inout Output) -> DisconnectReason {
        let final = closeReason ?? reason
        if let kept = keptSubscriptions() { output.add { $0.kept = kept } }
        end = final
        take(client.ended(final), &output)
        take(server.ended(), &output)
        endSubscriptions(final, &output)
        for id in operations.filter({ $0.stage == .finding }).map(\.id) {
            finish(id, .failure(.search(.disconnected(final))), &output)
        }
        admit(lane.open(), &output)
        return final
    }
}
