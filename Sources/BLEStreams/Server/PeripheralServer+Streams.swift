public import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// A central has connected, paired or left.
    public enum CentralEvent: Sendable {
        /// It is connected.
        case connected(ConnectedCentral)
        /// It has left, for this reason.
        case disconnected(ConnectedCentral, DisconnectReason)
        /// It has paired with this device; with the bond that is kept, or `nil` if it does not bond.
        case paired(ConnectedCentral, Bond?)
        /// Its pairing has failed; ``BLEError/pairingFailure`` is the reason, if known. The link may stay up.
        case pairingFailed(ConnectedCentral, BLEError)
    }
}

extension PeripheralServer {
    /// Centrals that are connected, then those that connect, pair and leave.
    ///
    /// Each iteration begins with a `connected` for each central that is connected already, so a loop that begins late
    /// misses none; pairings are reported from then on.
    ///
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public var centralEvents: BLEStream<PeripheralServer.CentralEvent> {
        let present: @Sendable () -> [Event] = { self.centrals.map { .connected($0) } }
        return events(StreamSubject(operation: "centrals"), after: present) { event in
            switch event {
            case .connected(let central): .connected(central)
            case .disconnected(let central, let reason): .disconnected(central, reason)
            case .paired(let central, let bond): .paired(central, bond)
            case .pairingFailed(let central, let error): .pairingFailed(central, error)
            default: nil
            }
        }
    }

    /// Subscriptions to all characteristics and their ends.
    ///
    /// Each iteration begins with the subscriptions that there are already, so a loop that begins late misses none.
    /// A central's subscriptions end with its link; those of a bonded one are reported again when it returns. One to a
    /// characteristic with an ``AccessRequirement`` is reported when its link is secure enough, or after 5 s, since not
    /// every radio can tell that; and only once the program has authorized the central, if that is required.
    ///
    /// A central that is 4,096 subscription changes ahead of the program is disconnected.
    ///
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func subscriptions() -> BLEStream<PeripheralServer.SubscriptionChange> { subscriptions(nil) }

    /// Subscriptions to a characteristic and their ends, first those that there are already. See ``subscriptions()``.
    public func subscriptions(of key: some CharacteristicKey) -> BLEStream<PeripheralServer.SubscriptionChange> {
        subscriptions(key.reference.selector)
    }

    /// Reads of all dynamic values, from now on, for the program to answer. If there are several iterations, the oldest
    /// gets each request; if there is none, the central gets Unlikely Error.
    ///
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func reads() -> BLEStream<PeripheralServer.ReadRequest> { reads(nil) }

    /// Reads of a dynamic value, for the program to answer. See ``reads()``.
    public func reads(of key: some CharacteristicKey) -> BLEStream<PeripheralServer.ReadRequest> {
        reads(key.reference.selector)
    }

    /// Writes of all values, from now on: those of dynamic values for the program to accept or reject, those of stored
    /// values after the fact. If there are several iterations, of this or of
    /// ``messages(to:endingWith:maximumSize:)``, the oldest gets each write that waits for an answer, and the others
    /// don't; what waits for none goes to all.
    ///
    /// Up to 4,096 writes of each central may wait for the program. Further ones of that central are dropped, and
    /// requests among them are refused with Insufficient Resources; other centrals are not affected.
    /// ``ConnectedCentral/droppedWrites`` counts a central's dropped writes, ``BLEStream/counters`` those dropped here,
    /// and ``BLEStream/withGaps()`` shows where; both also show writes without response that were ignored because the
    /// value is too long, because the central didn't know yet that the services were replaced, or because they are
    /// signed where the characteristic offers that, which this server can't verify; and what the kernel had no room
    /// for, which may have been such writes.
    ///
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func writes() -> BLEStream<PeripheralServer.WriteRequest> { writes(nil) }

    /// Writes of a value. See ``writes()``.
    public func writes(to key: some CharacteristicKey) -> BLEStream<PeripheralServer.WriteRequest> {
        writes(key.reference.selector)
    }

    private func subscriptions(
        _ name: CharacteristicSelector?
    ) -> BLEStream<PeripheralServer.SubscriptionChange> {
        let present: @Sendable () -> [Event] = {
            let all = self.centrals.flatMap { $0.subscriptions(self) }
            return all.filter { self.names(name, $0.handle) }.map { .subscription($0) }
        }
        return watch(name, "subscriptions", after: present) {
            if case .subscription(let change) = $0 { change } else { nil }
        }
    }

    private func reads(_ name: CharacteristicSelector?) -> BLEStream<PeripheralServer.ReadRequest> {
        watch(name, "reads") { if case .read(let request) = $0 { request } else { nil } }
    }

    private func writes(_ name: CharacteristicSelector?) -> BLEStream<PeripheralServer.WriteRequest> {
        watch(name, StreamSubject.writes, tellsLosses: true) {
            if case .write(let request) = $0 { request } else { nil }
        }
    }

    private func watch<Element: Sendable>(
        _ name: CharacteristicSelector?,
        _ operation: String,
        after present: (@Sendable () -> [Event])? = nil,
        tellsLosses: Bool = false,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        let subject = StreamSubject(operation: operation, object: name.map { "of \($0)" } ?? "")
        return events(of: name, subject, after: present, tellsLosses: tellsLosses, choose)
    }
}

extension PeripheralServer {
    /// The writes of one central to a characteristic, until it leaves.
    package func writes(
        to key: some CharacteristicKey,
        by central: ConnectedCentral
    ) -> BLEStream<PeripheralServer.WriteRequest> {
        let name = key.reference.selector
        let subject = StreamSubject(operation: StreamSubject.writes, object: "to \(name) by \(central)")
        let timeline = radio.timeline
        let stream = BLEStream<Waiting<PeripheralServer.WriteRequest>>(subject, timeline: timeline, buffer: .unbounded)
        { mailbox in
            let allowance = Allowance()
            let finish: @Sendable (BLEError?) -> Void = { mailbox.finish(throwing: $0) }
            let endOfWrites = self.watch(name, finish: finish) { event in
                if case .lostWrite(central, _) = event { mailbox.lost(1) }
                if case .lostPDUs(central, let count) = event { mailbox.lost(count) }
                guard case .write(let request) = event, request.central == central else { return .no }
                guard let place = allowance.place(for: central.id) else {
                    mailbox.lost(1)
                    return .full
                }
                mailbox.send(Waiting(element: request, place: place))
                return .yes
            }
            let endOfVisit = self.watch(nil, finish: finish) { event in
                if case .disconnected(let gone, _) = event, gone == central { mailbox.finish() }
                return .no
            }
            // It may have left before the watching began.
            if central.bearer.end != nil { mailbox.finish() }
            return {
                endOfWrites()
                endOfVisit()
            }
        }
        return stream.map { $0.element }
    }
}
