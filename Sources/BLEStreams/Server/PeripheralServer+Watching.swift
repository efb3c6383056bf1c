import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// A watcher of events.
    struct Watcher: Sendable {
        /// The characteristics that it watches, wherever they are when the services are replaced; `nil`: all.
        var name: CharacteristicSelector?
        /// Takes an event, if it watches for that kind.
        var take: @Sendable (Event) -> Taken
        var finish: @Sendable (BLEError?) -> Void
    }

    /// What a watcher did with an event.
    enum Taken: Sendable {
        /// It watches for other events.
        case no
        case yes
        /// It has no room for more of this central.
        case full
    }

    /// An event of the server.
    enum Event: Sendable {
        case connected(ConnectedCentral)
        case disconnected(ConnectedCentral, DisconnectReason)
        case paired(ConnectedCentral, Bond?)
        case pairingFailed(ConnectedCentral, BLEError)
        case subscription(PeripheralServer.SubscriptionChange)
        case read(PeripheralServer.ReadRequest)
        case write(PeripheralServer.WriteRequest)
        /// A write without response that was ignored, with what one with response would have been answered.
        case lostWrite(ConnectedCentral, ATTError)
        /// A write without response that the characteristic's closure has refused or taken too long for, or for which
        /// too many others waited.
        case refusedWrite(ConnectedCentral, isFlood: Bool)
        /// The link has lost so many PDUs of a central: each may have been a write without response.
        case lostPDUs(ConnectedCentral, Int)

        /// The central that caused it.
        fileprivate var central: ConnectedCentral {
            switch self {
            case .connected(let central), .disconnected(let central, _): central
            case .paired(let central, _), .pairingFailed(let central, _): central
            case .lostWrite(let central, _), .refusedWrite(let central, _), .lostPDUs(let central, _): central
            case .subscription(let change): change.central
            case .read(let request): request.central
            case .write(let request): request.central
            }
        }
    }

    /// Tells the watchers; returns what they did with the event.
    ///
    /// - Parameter former: the characteristic of the event, where another one may be at the handle now.
    @discardableResult
    func tell(
        _ event: Event,
        of handle: UInt16? = nil,
        _ former: DatabaseCharacteristic? = nil,
        onlyFirst: Bool = false
    ) -> Taken {
        var result = Taken.no
        for watcher in watchers(of: handle, former) {
            switch watcher.take(event) {
            case .no: break
            case .yes:
                if onlyFirst { return .yes }
                result = .yes
            case .full: if result == .no { result = .full }
            }
        }
        return result
    }

    /// The watchers of a characteristic's events, the oldest first.
    private func watchers(of handle: UInt16?, _ former: DatabaseCharacteristic?) -> [Watcher] {
        let all = allWatchers
        guard all.contains(where: { $0.name != nil }) else { return all }
        let characteristic = former ?? handle.flatMap { declared(at: $0) }
        return all.filter { $0.name.names(characteristic) }
    }

    /// Tells those who may miss a write without response by it that the link has lost PDUs of a central.
    func tellLoss(of count: Int, by central: ConnectedCentral) {
        let writable = database.withLock { $0.characteristics.filter { $0.properties.contains(.writeWithoutResponse) } }
        for watcher in allWatchers where writable.contains(where: { watcher.name.names($0) }) {
            _ = watcher.take(.lostPDUs(central, count))
        }
    }

    /// The chosen events of all characteristics.
    ///
    /// - Parameter present: the events that make the present state, with which each iteration begins; `nil`: none.
    func events<Element: Sendable>(
        _ subject: StreamSubject,
        after present: (@Sendable () -> [Event])? = nil,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        BLEStream(subject, timeline: radio.timeline, buffer: .standard) { mailbox in
            self.watch(nil, after: present, finish: { mailbox.finish(throwing: $0) }, choose) { element, _ in
                mailbox.send(element)
                return .yes
            }
        }
    }

    /// The chosen events of some characteristics or all; each central's share of the waiting ones is bounded.
    ///
    /// - Parameters:
    ///   - present: the events that make the present state, with which each iteration begins; `nil`: none.
    ///   - tellsLosses: whether a write without response that was ignored, or that the link may have lost, is a gap.
    func events<Element: Sendable>(
        of name: CharacteristicSelector?,
        _ subject: StreamSubject,
        after present: (@Sendable () -> [Event])? = nil,
        tellsLosses: Bool,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        let stream = BLEStream<Waiting<Element>>(subject, timeline: radio.timeline, buffer: .unbounded) { mailbox in
            let allowance = Allowance()
            let finish: @Sendable (BLEError?) -> Void = { mailbox.finish(throwing: $0) }
            let endOfEvents = self.watch(name, after: present, finish: finish, choose) { element, id in
                guard let place = allowance.place(for: id) else {
                    mailbox.lost(1)
                    return .full
                }
                mailbox.send(Waiting(element: element, place: place))
                return .yes
            }
            guard tellsLosses else { return endOfEvents }
            let endOfLosses = self.watch(name, finish: finish) { event in
                switch event {
                case .lostWrite: mailbox.lost(1)
                case .lostPDUs(_, let count): mailbox.lost(count)
                default: break
                }
                return .no
            }
            return {
                endOfEvents()
                endOfLosses()
            }
        }
        return stream.map { $0.element }
    }

    /// Watches for the chosen events, after those that make the present state.
    ///
    /// - Parameter deliver: takes what was chosen, with the number of the central that caused it.
    private func watch<Element>(
        _ name: CharacteristicSelector?,
        after present: (@Sendable () -> [Event])?,
        finish: @escaping @Sendable (BLEError?) -> Void,
        _ choose: @escaping @Sendable (Event) -> Element?,
        deliver: @escaping @Sendable (Element, Int) -> Taken
    ) -> () -> Void {
        let take: @Sendable (Event) -> Taken = { event in
            choose(event).map { deliver($0, event.central.id) } ?? .no
        }
        guard let present else { return watch(name, finish: finish, take: take) }
        let consumer = PresentFirst(deliver: take)
        let end = watch(name, finish: finish) { choose($0) == nil ? .no : consumer.take($0) }
        // Looked up when nothing escapes it any more.
        consumer.begin(with: present())
        return end
    }

    /// Watches until the returned closure is called, or the server ends.
    func watch(
        _ name: CharacteristicSelector?,
        finish: @escaping @Sendable (BLEError?) -> Void,
        take: @escaping @Sendable (Event) -> Taken
    ) -> () -> Void {
        let (id, isOver, failure) = add(Watcher(name: name, take: take, finish: finish))
        if isOver { finish(failure) }
        return { self.removeWatcher(id) }
    }
}
