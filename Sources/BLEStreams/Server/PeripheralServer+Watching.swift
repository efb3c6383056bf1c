import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// Who is told of what happens.
    struct Watcher: Sendable {
        /// The value handles that it is about; `nil`: all.
        var handles: Set<UInt16>?
        /// Takes an event, if it is one of those that are watched for.
        var take: @Sendable (Event) -> Taken
        var finish: @Sendable (BLEError?) -> Void
    }

    /// What a watcher has done with an event.
    enum Taken: Sendable {
        /// It watches for others.
        case no
        case yes
        /// It has no room for more of this central.
        case full
    }

    /// What happens to the server, for those who watch.
    enum Event: Sendable {
        case connected(ConnectedCentral)
        case disconnected(ConnectedCentral, DisconnectReason)
        case paired(ConnectedCentral, Bond?)
        case pairingFailed(ConnectedCentral, BLEError)
        case subscription(PeripheralServer.SubscriptionChange)
        case read(PeripheralServer.ReadRequest)
        case write(PeripheralServer.WriteRequest)

        /// Who made it happen.
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

    /// Tells who watches, and what they did with it.
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

    /// The events that are chosen, of all characteristics.
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

    /// The events that are chosen, of some characteristics or all; what waits is bounded for each central by itself.
    ///
    /// - Parameter handles: asked for when an iteration begins.
    func events<Element: Sendable>(
        of handles: @escaping @Sendable () -> Set<UInt16>?,
        _ subject: StreamSubject,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        let stream = BLEStream<Waiting<Element>>(subject, timeline: radio.timeline, buffer: .unbounded) { mailbox in
            let allowance = Allowance()
            return self.watch(handles(), finish: { mailbox.finish(throwing: $0) }) { event in
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

    /// Watches until what is returned is called, or the server is over.
    func watch(
        _ handles: Set<UInt16>?,
        finish: @escaping @Sendable (BLEError?) -> Void,
        take: @escaping @Sendable (Event) -> Taken
    ) -> () -> Void {
        let (id, isOver, failure) = add(Watcher(handles: handles, take: take, finish: finish))
        if isOver { finish(failure) }
        return { self.removeWatcher(id) }
    }
}
