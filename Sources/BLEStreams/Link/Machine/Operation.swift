import BLEProtocol

extension LinkMachine {
    /// Something that the program, or a subscription of it, does on the link.
    struct Operation: Sendable {
        let id: OperationID
        /// Beside the target: to look at a part of that copies all of it.
        let kind: Kind
        let target: Target
        /// Its place in the lane; `nil` for what doesn't wait for it.
        let place: LaneOrder.ID?
        var stage = Stage.waiting
        /// The procedure on what was found.
        var procedure: (any GATTProcedure)?
        /// What the handles meant when they were used; `nil`: nobody knows.
        var database: GATTDatabase?
        /// Whether it is begun once more, since the services may have changed before the peer had done it.
        var hasRepeated = false
        /// How often the link had been raised when it was begun.
        var rises = 0
        /// Whether the link was to be raised for it.
        var hasRaised = false
    }

    /// What an operation is for.
    enum Target: Sendable {
        /// A procedure on a characteristic, which must have one of these properties; made when that has been found.
        case characteristic(
            CharacteristicSelector,
            anyOf: Characteristic.Properties,
            @Sendable (Characteristic) -> any GATTProcedure
        )
        /// A procedure whose handles the caller knows, or that needs none.
        case handles(any GATTProcedure)
        /// Where a characteristic is; the success is a `Characteristic`.
        case find(CharacteristicSelector)
        /// All that the peer offers; the success is a `GATTDatabase`.
        case database
        /// The link for oneself; the success is the `Pass` of the hold, which ``LinkMachine/leave(_:_:)`` gives back.
        case hold
        /// A procedure of the link's own, which waits for nobody.
        case aside(any GATTProcedure)
        /// A subscription that begins.
        case subscribe(Subscription.ID)
        /// A subscriber of this value handle that has left.
        case unsubscribe(Subscription.ID, UInt16)
        /// A characteristic that nobody wants and the peer sends, by value handle; where it is this one.
        case switchOff(UInt16, BluetoothUUID?)

        var kind: Kind {
            switch self {
            case .characteristic, .handles, .find, .database: .attributes
            case .hold: .hold
            case .aside: .aside
            case .subscribe, .unsubscribe, .switchOff: .subscription
            }
        }

        var isSwitchOff: Bool { if case .switchOff = self { true } else { false } }

        /// Whether it names a characteristic that has to be found.
        var isFound: Bool {
            switch self {
            case .characteristic, .find: true
            default: false
            }
        }
    }

    enum Kind: Sendable {
        /// It names something of the peer's, or finds it.
        case attributes
        case hold
        case aside
        case subscription
    }

    /// ```
    /// waiting ─► finding ─► raising ─► running ─► (finished)
    ///     └──────────┴──────────┴──────▲   │
    ///                ▲         ▲           │ refused, since the link isn't secure enough: once
    ///                │         └───────────┤
    ///                └─────────────────────┘ the handles may mean something else: once
    /// ```
    enum Stage: Equatable, Sendable {
        /// For its turn in the lane.
        case waiting
        /// For what the peer offers.
        case finding
        /// For a more secure link.
        case raising(RaiseID, Raising)
        case running(GATTClient.ProcedureID)
    }

    /// Why the link is raised for an operation.
    enum Raising: Equatable, Sendable {
        /// The program demands it for this characteristic, or for what the procedure reads.
        case demanded(LinkSecurity.Level, Characteristic?)
        /// The peer refused.
        case refused(GATTFailure)
    }

    /// What a procedure of the client half is for.
    enum Purpose: Sendable {
        case operation(OperationID)
        case configuration(Configuration)
        case hash(Int)
        case probe(Int)
        case discovery(Int)
    }

    /// A write that has the peer send values, or send them no more.
    struct Configuration: Sendable {
        let write: SubscriptionTable.Write
        /// The place in the lane that is left when nothing more is to be written.
        let place: LaneOrder.ID?
        /// How often the link had been raised when it was begun.
        let rises: Int
        /// Whether the link was raised for it.
        let hasRaised: Bool
    }

    /// A write that the peer refused, since the link isn't secure enough.
    struct RefusedConfiguration: Sendable {
        let configuration: Configuration
        let failure: GATTFailure
    }
}
