import BLEProtocol
import BLERadio

/// All that there is to decide on one link, as a value without I/O: who may use it, what is known of the peer's attributes,
/// what the program wants of them, who is sent which values, and what leaves when.
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
/// Each part is a machine of its own; this one lets them meet. Calls, PDUs, timers and answers go in; what is to be done
/// comes out in one ``Output``, in names and not in closures. Its driver is the ``Bearer``.
struct LinkMachine: Sendable {
    /// An operation of the program, from its beginning to its end; later ones have greater numbers.
    typealias OperationID = Int
    /// In whose name an operation is begun: that of the hold with this number.
    typealias Pass = LaneOrder.ID

    // The two halves of the Attribute Protocol, and the way out of both.
    var client: GATTClient
    var server: ATTServer
    var turn = SendingTurn()
    /// What the client half's procedures are for, the oldest first: they end in about this order, so the search is short.
    var purposes: [(id: GATTClient.ProcedureID, purpose: Purpose)] = []

    // Operations, and who may use the link.
    var lane = LaneOrder()
    var operations: [Operation] = []
    var lastOperation: OperationID = 0

    // What is known of the peer's attributes.
    var tracker: DatabaseTracker
    /// What was discovered of chosen services, while nothing else is known.
    var chosen = ChosenServices()
    /// The searches that are under way, by the tracker's number.
    var searches: SmallTable<Int, GATTClient.ProcedureID> = [:]
    /// Whether something is to be remembered that was not known before this link.
    var hasChangedMemory = false

    // Who is sent which values.
    var subscriptions: SmallTable<Subscription.ID, Subscription> = [:]
    var lastSubscription: Subscription.ID = LinkMachine.own
    var table = SubscriptionTable()
    var routes: SmallTable<UInt16, Route> = [:]
    var early = EarlyValues()
    var unclaimed = Unclaimed()
    /// Where Service Changed was subscribed to, and whether that was after the last change.
    var serviceChanged: (handle: UInt16, isFresh: Bool)?
    /// Subscribers that have left, and wait for the lane to say so.
    var leaving = 0
    /// Whether to tell when nothing is under way for a subscription any more.
    var wantsQuiet = false

    // How the link is protected.
    /// What the program demands of the link before it uses these characteristics.
    var demands = SecurityDemands()
    /// How often the link has been raised: what was refused before may be allowed now.
    var rises = 0
    var lastRaise: RaiseID = 0
    /// Writes of a configuration that wait for the link to be raised.
    var raising: SmallTable<RaiseID, RefusedConfiguration> = [:]

    // The beginning and the end.
    /// The time, kept up while a value may be early.
    var now = Duration.zero
    /// Whether anything has come over the link.
    var hasReceived = false
    var end: DisconnectReason?
    /// Why this side gave the bearer up; the radio will only tell that it was closed locally.
    var closeReason: DisconnectReason?
    /// Why nobody can subscribe any more: the link is over, or is being closed by this side.
    var closedToSubscribers: DisconnectReason?
    /// PDUs that the radio or the kernel has dropped.
    var drops = 0
    /// PDUs of the peer that belonged to nothing.
    var ignored = 0

    /// - Parameters:
    ///   - maximumMTU: what Exchange MTU proposes, in octets.
    ///   - servedClient: what is known of the peer as a client of our own attributes.
    ///   - remembered: what the peer offered when it was met last.
    ///   - tellsLater: whether the peer tells of services that it changed while there was no link.
    init(
        maximumMTU: Int,
        servedClient: ServerClient,
        remembered: RememberedDatabase?,
        tellsLater: Bool = false
    ) {
        client = GATTClient(maximumMTU: maximumMTU)
        server = ATTServer(maximumMTU: maximumMTU, client: servedClient)
        tracker = DatabaseTracker(remembered: remembered, tellsLater: tellsLater)
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

    /// This side gives the link up.
    mutating func close(_ reason: DisconnectReason) {
        if closeReason == nil { closeReason = reason }
    }

    /// The link is over: whatever is under way ends with the reason.
    ///
    /// - Returns: why it really is over.
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
