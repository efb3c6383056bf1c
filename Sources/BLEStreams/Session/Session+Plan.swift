public import BLEProtocol
import BLERadio

extension Session {
    /// What a session does: which peripheral it finds, what it requires of it, and how long it tries.
    ///
    /// ```swift
    /// Session.Plan(finding: .service(.heartRate), .rssi(atLeast: -80)).subscribing(to: .heartRateMeasurement)
    /// ```
    public struct Plan: Hashable, Sendable {
        /// Which peripheral a session is for.
        package enum Target: Hashable, Sendable {
            /// The peripheral with this address; several if its kind is unknown, the likelier one first.
            case addresses([BluetoothAddress])
            /// The peripheral that a scan with these filters finds.
            case found([ScanFilter], Session.SearchChoice)
        }

        /// Which peripheral the session is for.
        package var target: Target

        /// The subscriptions to make on every link before the session is ready.
        ///
        /// The session fails if the peripheral lacks one of them, also when its services change while the link is up.
        /// If it refuses one, the session fails only if another attempt can't help (``BLEError/isFinal``). Otherwise it
        /// tries again on another link, as ``reconnecting`` says, and its streams wait: ``Session/states`` tell why.
        ///
        /// While no stream of a subscription is iterated, the newest 1,024 of its values are buffered for the next
        /// consumer, after those that the last one has left: values or messages may be taken one at a time, and none is
        /// lost in between. What came before the session has failed comes before its error.
        public var subscriptions: [Session.Subscription] = []

        /// Services that the peripheral must have; the session fails without them.
        public var requiredServices: [BluetoothUUID] = []

        /// Whether to discover the services before the session is ready. If not, a stream discovers what it needs when
        /// it is iterated. A plan with subscriptions or required services has them discovered all the same.
        public var discovers = true

        /// Whether the services must be known before the session is ready.
        var mustDiscover: Bool { discovers || !subscriptions.isEmpty || !requiredServices.isEmpty }

        /// The time limits of the steps.
        public var limits = Session.Limits()

        /// The parameters of its links; `nil`: the preference for the peripheral, or the central's.
        public var parameters: ConnectionParameters?

        /// The security that each link must have before the program's first steps and the subscriptions; `nil`: as
        /// operations require. The link is raised to it within ``Session/Limits/initialise``: with the pairing answers
        /// of the peripheral (``Peripheral/allowPairing(_:)``) or the central if there are any, otherwise with the keys
        /// of a bond, or by Just Works if that is sufficient. If the link can't be raised, the session fails if
        /// another attempt can't help (``BLEError/isFinal``). Otherwise, as when pairing takes too long, or when the
        /// link ends since the peripheral has lost its keys, the session tries again, as ``reconnecting`` says.
        public var security: LinkSecurity.Level?

        /// How often and how soon to reconnect when a link is lost or can't be made.
        ///
        /// Failures are counted until a link has been ready for the policy's `stableAfter`: if a peripheral drops link
        /// after link, the pauses grow, and the session fails when the policy's attempts are used up. Waiting for an
        /// adapter that is switched off or unplugged is not counted.
        ///
        /// `nil`: never. Any lost link is then a failure of the session, and so is an unusable adapter, when the
        /// session begins or later: the session continues only after ``Session/reset()``.
        public var reconnecting: RetryPolicy? = .exponential()

        /// How often an attempt is repeated immediately if the connection failed to be established.
        public var immediateAttempts = 3

        /// Whether later runs of the program can restore the session with ``Fleet/restore(initialise:)``.
        ///
        /// The plan is stored for the address found; if the session finds its peripheral at another one, for that only.
        /// Of several sessions with one peripheral, the plans of all that run side by side are stored. An address that
        /// changes by design is useless to a later run, unless there is a bond by which the kernel recognises the
        /// peripheral.
        public var isKept = false

        /// A session with the peripheral at this address; pass it with both kinds if the kind is unknown.
        public init(addresses: [BluetoothAddress]) { target = .addresses(addresses) }

        /// A session with the peripheral at this address.
        public init(_ address: BluetoothAddress) { self.init(addresses: [address]) }

        /// A session with this peripheral.
        public init(_ peripheral: Peripheral) { self.init(addresses: [peripheral.address] + peripheral.alternatives) }

        /// A session with the peripheral that a scan finds; ``ScanFilter`` describes how filters combine.
        ///
        /// Later links are made to the address found first, unless it changes by design: then they are made to the
        /// identity that a bond reveals, for as long as there is one, and otherwise it is searched for again.
        public init(finding filters: ScanFilter..., choosing choice: Session.SearchChoice = .first) {
            self.init(finding: filters, choosing: choice)
        }

        /// As ``init(finding:choosing:)-(ScanFilter...,_)``, with the filters in an array.
        public init(finding filters: [ScanFilter], choosing choice: Session.SearchChoice = .first) {
            target = .found(filters, choice)
        }

        /// Adds a subscription to the plan.
        ///
        /// - Parameters:
        ///   - key: the characteristic; if the peripheral has several of its type, the first one.
        ///   - indications: whether to prefer indications if the characteristic has both.
        public func subscribing(to key: some CharacteristicKey, indications: Bool = false) -> Session.Plan {
            var plan = self
            plan.subscriptions.append(Session.Subscription(key, indications: indications))
            return plan
        }
    }

    /// Which peripheral a search chooses if it finds several.
    public enum SearchChoice: Hashable, Sendable {
        /// The first one heard.
        case first
        /// The one with the strongest signal within this time after the first one is heard.
        case strongest(within: Duration)
    }

    /// The time limits of a session's steps. Waiting for the adapter has no limit.
    ///
    /// While another user of the same link has exclusive use of it, as a flow has, ``discover`` and ``subscribe`` have
    /// not begun yet. ``initialise`` counts that wait, since only the program knows what its first steps wait for.
    public struct Limits: Hashable, Sendable {
        /// Until the peripheral is heard; `nil`: without limit. If the session has had no link yet, it then fails;
        /// later it searches again, as ``Session/Plan/reconnecting`` says.
        public var search: Duration? = .seconds(30)
        /// Until a link is up and its MTU negotiated.
        public var connect: Duration = .seconds(30)
        /// Until all services are known.
        public var discover: Duration = .seconds(30)
        /// Until the program's first steps on a link have ended, including a person's answers if the link is raised.
        public var initialise: Duration = .seconds(30)
        /// Until one subscription is in place, including a person's answers if the link is raised for it.
        public var subscribe: Duration = .seconds(10)

        /// Default limits, suitable for most peripherals.
        public init() {}
    }
}
