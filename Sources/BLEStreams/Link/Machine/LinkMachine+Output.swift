import BLEProtocol

extension LinkMachine {
    /// What a step leads to; each lane stands by itself, and most are empty.
    struct Output: Equatable {
        /// Values for consumers, in order; before all else.
        var deliveries: [Delivery] = []
        /// Whether an indication is among them: nothing is sent before it has been delivered.
        var hasIndication = false
        /// Operations that ended.
        var finished = Few<Finished>()
        /// The transaction timer of each half.
        var clientTimer: GATTClient.TimerCommand?
        var serverTimer: ATTServer.TimerCommand?
        /// What most steps don't lead to; `nil` where nothing of it is to be done.
        var rest: Rest?
    }

    /// The lanes that are seldom used: together, so that a step without them doesn't pay for each.
    struct Rest: Equatable {
        /// What consumers are told beside their values, in order.
        var notices: [Notice] = []
        /// What the peer did to our own attributes.
        var served: [ATTServer.Output] = []
        /// The waits of ``DatabaseTracker``.
        var waits: [Wait] = []
        /// The link is to be made more secure, or need not be any more.
        var raises: [Raise] = []
        /// What is to be kept of the peer for later links.
        var memory: [DatabaseTracker.Memory] = []
        /// What the peer keeps switched on if it is bonded, where that is not what was kept before.
        var kept: [KeptSubscription]?
        /// The peer's services have changed: the new ones.
        var changed: GATTDatabase?
        /// The last subscription is switched off.
        var isQuiet = false
        /// The link is to be dropped.
        var mustDisconnect = false
    }

    /// Values of one characteristic that came one after the other.
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

    enum Notice: Equatable {
        /// The wish is queued: what is begun now follows it on air. Again when the services have changed.
        case registered(ValueConsumer, Characteristic)
        /// The peer has confirmed that it sends the values.
        case armed(ValueConsumer)
        /// So many values were dropped before they came here.
        case lost(ValueConsumer, Int)
        /// Values wait for it: ``LinkMachine/takeHeld(_:)`` until there are none.
        case held(ValueConsumer, Subscription.ID)
        /// No more values come; `nil` where this side wanted that.
        case ended(ValueConsumer, LinkFailure?)
    }

    enum Wait: Equatable {
        /// Call ``LinkMachine/waited(_:_:)`` with the number after this time.
        case start(Int, Duration)
        case cancel(Int)
    }

    /// Names a wish for a more secure link until it is fulfilled or given up.
    typealias RaiseID = Int

    enum Raise: Equatable {
        /// The link is to be at this level.
        case toLevel(LinkSecurity.Level, RaiseID, Asker)
        /// The peer has refused something, which may need a more secure link.
        case afterRefusal(ATTError, RaiseID, Asker)
        /// Nobody wants it any more.
        case leave(RaiseID)
    }

    /// Who answers what a pairing asks.
    enum Asker: Equatable {
        case operation(OperationID)
        /// Whichever of them has answers.
        case consumers([ValueConsumer])
    }

    /// What came of a wish for a more secure link.
    enum Raised: Sendable {
        case done
        case failed(BLEError)
        /// Nobody answers, or it would not help.
        case declined
    }
}

extension LinkMachine.Output {
    /// Asks for something that most steps don't lead to.
    mutating func add(_ body: (inout LinkMachine.Rest) -> Void) {
        var all = rest.take() ?? LinkMachine.Rest()
        body(&all)
        rest = all
    }

    mutating func tell(_ notice: LinkMachine.Notice) { add { $0.notices.append(notice) } }
}
