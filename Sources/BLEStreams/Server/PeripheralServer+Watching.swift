import BLEProtocol
import BLERadio
import Synchronization

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

        /// The central that caused it.
        fileprivate var central: ConnectedCentral {
            switch self {
            case .connected(let central), .disconnected(let central, _): central
            case .paired(let central, _), .pairingFailed(let central, _): central
            case .subscription(let change): change.central
            case .read(let request): request.central
            case .write(let request): request.central
            }
        }
    }

    /// Tells the watchers; returns what they did with the event.
    @discardableResult
    func tell(_ event: Event, of handle: UInt16? = nil, onlyFirst: Bool = false) -> Taken {
        var result = Taken.no
        for watcher in watchers(of: handle) {
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

    /// The chosen events of all characteristics.
    func events<Element: Sendable>(
        _ subject: StreamSubject,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        BLEStream(subject, timeline: radio.timeline, buffer: .standard) { mailbox in
            self.watch(nil, finish: { mailbox.finish(throwing: $0) }) { event in
                guard let element = choose(event) else { return .no }
                mailbox.send(element)
                return .yes
            }
        }
    }

    /// The chosen events of some characteristics or all; each central's share of the waiting ones is bounded.
    func events<Element: Sendable>(
        of name: CharacteristicSelector?,
        _ subject: StreamSubject,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        let stream = BLEStream<Waiting<Element>>(subject, timeline: radio.timeline, buffer: .unbounded) { mailbox in
            let allowance = Allowance()
            return self.watch(name, finish: { mailbox.finish(throwing: $0) }) { event in
                guard let element = choose(event) else { return .no }
                guard let place = allowance.place(for: event.central.id) else {
                    mailbox.lost(1)
                    return .full
                }
                mailbox.send(Waiting(element: element, place: place))
                return .yes
            }
        }
        return stream.map { $0.element }
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
