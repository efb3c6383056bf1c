import BLEProtocol

extension LinkMachine {
    /// Something that the program, or one of its subscriptions, does on the link.
    struct Operation: Sendable {
        let id: OperationID
        let target: Target
        /// Its place in the lane; `nil` if it doesn't wait for one.
        let place: LaneOrder.ID?
        var stage = Stage.waiting
        /// The procedure on the characteristic found.
        var procedure: (any GATTProcedure)?
        /// The database that the handles referred to when they were used; `nil` if it was unknown.
        var database: GATTDatabase?
        /// Whether it was begun once more, since the services may have changed before the peer carried it out.
        var hasRepeated = false
        /// How often the link had been raised when it was begun, or when it began to wait for a discovery.
        var rises = 0
        /// Whether the link was to be raised for it.
        var hasRaised = false
        /// Whether the link was raised for the discovery that it waits for.
        var hasRaisedForSearch = false

        var kind: Kind { target.kind }
    }

    /// What an operation is for.
    struct Target: Sendable {
        /// Stored, since looking at a part of the content copies all of it.
        let kind: Kind
        let content: Content

        /// A procedure on a characteristic that must have one of these properties; created once that is found.
        static func characteristic(
            _ selector: CharacteristicSelector,
            anyOf properties: Characteristic.Properties,
            _ make: @escaping @Sendable (Characteristic) -> any GATTProcedure
        ) -> Target {
            Target(kind: .attributes, content: .characteristic(selector, anyOf: properties, make))
        }

        /// A procedure whose handles the caller knows, or that needs none.
        static func handles(_ procedure: any GATTProcedure) -> Target {
            Target(kind: .attributes, content: .handles(procedure))
        }

        /// The search for a characteristic; the success is a `Characteristic`.
        static func find(_ selector: CharacteristicSelector) -> Target {
            Target(kind: .attributes, content: .find(selector))
        }

        /// All services of the peer; the success is a `GATTDatabase`.
        static var database: Target { Target(kind: .attributes, content: .database(within: nil)) }

        /// The same, with a limit that begins when the link is free for it.
        static func database(within limit: Duration) -> Target {
            Target(kind: .attributes, content: .database(within: limit))
        }

        /// Exclusive use of the link; the success is the `Pass` of the hold, which ``LinkMachine/leave(_:_:)``
        /// releases.
        static var hold: Target { Target(kind: .hold, content: .hold) }

        /// A procedure of the link's own, which waits for nobody.
        static func aside(_ procedure: any GATTProcedure) -> Target {
            Target(kind: .aside, content: .aside(procedure))
        }

        /// A subscription that begins.
        static func subscribe(_ id: Subscription.ID) -> Target {
            Target(kind: .subscription, content: .subscribe(id))
        }

        /// A subscriber of this value handle that has left.
        static func unsubscribe(_ id: Subscription.ID, _ handle: UInt16) -> Target {
            Target(kind: .subscription, content: .unsubscribe(id, handle))
        }

        /// A characteristic that the peer sends though nobody wants it, by value handle; only if it has this type.
        static func switchOff(_ handle: UInt16, _ uuid: BluetoothUUID?) -> Target {
            Target(kind: .subscription, content: .switchOff(handle, uuid))
        }

        var isSwitchOff: Bool { if case .switchOff = content { true } else { false } }

        /// Whether it names a characteristic that must be found.
        var isFound: Bool {
            switch content {
            case .characteristic, .find: true
            default: false
            }
        }
    }

    /// What each of the functions above makes of its arguments.
    enum Content: Sendable {
        case characteristic(
            CharacteristicSelector,
            anyOf: Characteristic.Properties,
            @Sendable (Characteristic) -> any GATTProcedure
        )
        case handles(any GATTProcedure)
        case find(CharacteristicSelector)
        case database(within: Duration?)
        case hold
        case aside(any GATTProcedure)
        case subscribe(Subscription.ID)
        case unsubscribe(Subscription.ID, UInt16)
        case switchOff(UInt16, BluetoothUUID?)
    }

    enum Kind: Sendable {
        /// It names attributes of the peer, or finds them.
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
    /// A discovery that is refused since the link isn't secure enough has it raised too, and is begun anew: once.
    enum Stage: Equatable, Sendable {
        /// Waits for its turn in the lane.
        case waiting
        /// Waits for the peer's services to be known.
        case finding
        /// Waits for a more secure link.
        case raising(RaiseID, Raising)
        case running(GATTClient.ProcedureID)
    }

    /// What an operation waits for.
    enum Delay: Sendable {
        /// Its turn in the lane.
        case turn
        /// A more secure link, for itself or for others: nothing is sent meanwhile.
        case security
        /// Room in the radio, for a command.
        case room
        /// The peer's answers.
        case answer
    }

    /// Why the link is raised for an operation.
    enum Raising: Equatable, Sendable {
        /// The program demands it for this characteristic, or for what the procedure uses.
        case demanded(LinkSecurity.Level, Characteristic?)
        /// The peer refused.
        case refused(GATTFailure)
        /// The peer refused the discovery.
        case unlisted(GATTFailure)
    }

    /// The purpose of a procedure of the client half.
    enum Purpose: Sendable {
        case operation(OperationID)
        case configuration(Configuration)
        case hash(Int)
        case probe(Int)
        case discovery(Int)
    }

    /// A write that makes the peer send values, or stop sending them.
    struct Configuration: Sendable {
        let write: SubscriptionTable.Write
        /// The place in the lane to release when there is nothing more to write.
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
