import BLEProtocol

extension LinkMachine {
    /// The result of a step; its lanes are independent, and most are empty.
    struct Output: Equatable {
        /// Values for consumers, in order; delivered before all else.
        var deliveries: [Delivery] = []
        /// Whether an indication is among them: nothing is sent before it has been delivered.
        var hasIndication = false
        /// Operations that ended.
        var finished = Few<Finished>()
        /// The transaction timer of each half.
        var clientTimer: GATTClient.TimerCommand?
        var serverTimer: ATTServer.TimerCommand?
        /// The rarely used lanes; `nil` if all are empty.
        var rest: Rest?
    }

    /// The rarely used lanes, together, so that a step without them doesn't pay for each.
    struct Rest: Equatable {
        /// Operations that have got their turn in the lane, with the limits that begin then.
        var limits: [Limit] = []
        /// What consumers are told besides their values, in order.
        var notices: [Notice] = []
        /// What the peer did to our own attributes.
        var served: [ATTServer.Output] = []
        /// The waits of ``DatabaseTracker``.
        var waits: [Wait] = []
        /// Requests to make the link more secure, and withdrawals of them.
        var raises: [Raise] = []
        /// What to store about the peer for later links.
        var memory: [DatabaseTracker.Memory] = []
        /// What the peer keeps switched on if it is bonded; `nil` if that is the same as stored before.
        var kept: [KeptSubscription]?
        /// The peer's services have changed: the new ones.
        var changed: GATTDatabase?
        /// The last subscription is switched off.
        var isQuiet = false
        /// The link is to be dropped.
        var mustDisconnect = false
    }

    /// Consecutive values of one characteristic.
    struct Delivery: Equatable {
        let handle: UInt16
        let consumers: [ValueConsumer]
        var values: [CharacteristicValue]
    }

    /// An operation that ended; the success has the type that belongs to its target.
    struct Finished: Equatable {
        let id: OperationID
        let result: Result<GATTSuccess, LinkFailure>
    }

    /// A limit that begins when the link is free for the operation.
    struct Limit: Equatable {
        let id: OperationID
        let duration: Duration
    }

    enum Notice: Equatable {
        /// The link is free for the subscription, which begins.
        case begun(ValueConsumer)
        /// The subscription is queued: what begins now follows it on air. Repeated when the services have changed.
        case registered(ValueConsumer, Characteristic)
        /// The subscription is made anew elsewhere: values may be missing here.
        case moved(ValueConsumer)
        /// The peer has confirmed that it sends the values.
        case armed(ValueConsumer)
        /// This many values were dropped before they arrived here.
        case lost(ValueConsumer, Int)
        /// PDUs of the link were dropped here that may have been its values.
        case mayLack(ValueConsumer)
        /// The peer may have withheld its values here, because this side did not know of a change of the services.
        case withheld(ValueConsumer)
        /// Values behind the notices before this one.
        case values(ValueConsumer, [CharacteristicValue])
        /// Values wait for the consumer: call ``LinkMachine/takeHeld(_:)`` until there are none.
        case held(ValueConsumer, Subscription.ID)
        /// No more values come; `nil` if this side has ended them.
        case ended(ValueConsumer, LinkFailure?)
    }

    enum Wait: Equatable {
        /// Call ``LinkMachine/waited(_:_:)`` with the number after this time.
        case start(Int, Duration)
        case cancel(Int)
    }

    /// Identifies a wish for a more secure link until it is fulfilled or withdrawn.
    typealias RaiseID = Int

    enum Raise: Equatable {
        /// Raise the link to this level.
        case toLevel(LinkSecurity.Level, RaiseID, Asker)
        /// The peer has refused something that may need a more secure link.
        case afterRefusal(ATTError, RaiseID, Asker)
        /// The wish is withdrawn.
        case leave(RaiseID)
    }

    /// The source of pairing answers.
    enum Asker: Equatable {
        case operation(OperationID)
        /// The first of them that has answers.
        case consumers([ValueConsumer])
    }

    /// The outcome of a wish for a more secure link.
    enum Raised: Sendable {
        case done
        case failed(BLEError)
        /// Nobody answers, or it would not help.
        case declined
    }
}

extension LinkMachine.Output {
    /// Adds something to the rarely used lanes.
    mutating func add(_ body: (inout LinkMachine.Rest) -> Void) {
        var all = rest.take() ?? LinkMachine.Rest()
        body(&all)
        rest = all
    }

    mutating func tell(_ notice: LinkMachine.Notice) { add { $0.notices.append(notice) } }
}
