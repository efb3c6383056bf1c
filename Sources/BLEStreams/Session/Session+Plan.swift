public import BLEProtocol
import BLERadio

extension Session {
    /// What a session is to do: whom to find, what to ask of it, for how long to try.
    ///
    /// ```swift
    /// Session.Plan(finding: .service(.heartRate), .rssi(atLeast: -80)).subscribing(to: .heartRateMeasurement)
    /// ```
    public struct Plan: Hashable, Sendable {
        /// Whom the session is for.
        public enum Target: Hashable, Sendable {
            /// The peripheral with this address; where its kind isn't known, the first one is the likelier.
            case addresses([BluetoothAddress])
            /// What a scan with these filters finds.
            case found([ScanFilter], Session.SearchChoice)
        }

        /// Whom the session is for.
        public var target: Target

        /// What is switched on with every link, before the session is ready.
        ///
        /// The session fails where the peripheral lacks one of them, or refuses it. Values that come while nobody iterates
        /// their stream wait for the first one who does, the newest 1,024.
        public var subscriptions: [Session.Subscription] = []

        /// Services that the peripheral must have; the session fails without them.
        public var requiredServices: [BluetoothUUID] = []

        /// Whether the peripheral is asked what it has before the session is ready. Without that there are no planned
        /// subscriptions, and a stream that is iterated asks by itself.
        public var discovers = true

        /// For how long each step is tried.
        public var limits = Session.Limits()

        /// What its links are to be like; `nil`: what is preferred for the peripheral, or by the central.
        public var parameters: ConnectionParameters?

        /// How secure each link must be before the program's own first steps and the subscriptions; `nil`: what operations turn out
        /// to need. It is raised, where somebody answers for the peripheral (``Peripheral/allowPairing(_:)``) or the central, within
        /// ``Session/Limits/initialise``; otherwise with the keys of a bond, or by Just Works where that will do. Where it can't be,
        /// the session fails.
        public var security: LinkSecurity.Level?

        /// How often and how soon to reconnect when a link is lost or can't be made.
        ///
        /// Failures are counted until a link has been ready for ``RetryPolicy/stableAfter``: a peripheral that drops link after
        /// link is left alone for longer each time, and given up where the policy limits the attempts. An adapter that is
        /// switched off or unplugged is waited for without counting.
        ///
        /// `nil`: not at all. Any lost link is a failure of the session then, and so is an adapter that can't be used, when
        /// the session begins or later: nothing goes on by itself when it returns, only after ``Session/reset()``.
        public var reconnecting: RetryPolicy? = .exponential()

        /// How often an attempt is repeated at once when the connection failed to be established.
        public var immediateAttempts = 3

        /// Whether later runs of the program get the session back, with ``Fleet/restore(initialise:)``.
        ///
        /// What is kept is the plan for the address that was found. One that changes by design is of no use to a later run,
        /// unless there is a bond by which the kernel recognises the peripheral.
        public var isKept = false

        /// A session with the peripheral that has one of these addresses: of one device, with its kind or both kinds.
        public init(addresses: [BluetoothAddress]) { target = .addresses(addresses) }

        /// A session with the peripheral of this address.
        public init(_ address: BluetoothAddress) { self.init(addresses: [address]) }

        /// A session with this peripheral.
        public init(_ peripheral: Peripheral) { self.init(addresses: [peripheral.address] + peripheral.alternatives) }

        /// A session with what a scan finds: see ``ScanFilter`` for how filters combine.
        ///
        /// Once found it is kept to: later links are made to the same address, unless that is one which changes by design.
        public init(finding filters: ScanFilter..., choosing choice: Session.SearchChoice = .first) {
            self.init(finding: filters, choosing: choice)
        }

        /// As ``init(finding:choosing:)-(ScanFilter...,_)``, with the filters in an array.
        public init(finding filters: [ScanFilter], choosing choice: Session.SearchChoice = .first) {
            target = .found(filters, choice)
        }

        /// The same plan with one more subscription.
        ///
        /// - Parameters:
        ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
        ///   - indications: whether indications are preferred where the characteristic has both.
        public func subscribing(to key: some CharacteristicKey, indications: Bool = false) -> Session.Plan {
            var plan = self
            plan.subscriptions.append(Session.Subscription(key, indications: indications))
            return plan
        }
    }

    /// Which of several peripherals that a search finds is taken.
    public enum SearchChoice: Hashable, Sendable {
        /// The one that is heard first.
        case first
        /// The one that is heard most strongly from the first one on for so long.
        case strongest(within: Duration)
    }

    /// For how long a session tries each of its steps. Waiting for the adapter has no limit.
    public struct Limits: Hashable, Sendable {
        /// Until it is heard; `nil`: for as long as it takes.
        public var search: Duration? = .seconds(30)
        /// Until a link is up and its MTU negotiated.
        public var connect: Duration = .seconds(30)
        /// Until all services are known.
        public var discover: Duration = .seconds(30)
        /// Until what the program does first on each link is done, with the time of whoever answers where the link is raised.
        public var initialise: Duration = .seconds(30)
        /// Until one characteristic sends its values, with the time of whoever answers where the link is raised for that.
        public var subscribe: Duration = .seconds(10)

        /// The limits that serve most peripherals.
        public init() {}
    }
}
