import BLEProtocol
import BLERadio
import Synchronization

/// Reports the events of a central to its handlers.
final class EventBoard: Sendable {
    private let handlers: [any EventHandler]
    let timeline: any Timeline
    /// The links that are up, by peripheral, each with what is told of it: its beginning and its end are told on
    /// different threads.
    private let links = Mutex<[BluetoothAddress: Announcements]>([:])

    init(_ handlers: [any EventHandler], _ timeline: any Timeline) {
        self.handlers = handlers
        self.timeline = timeline
    }

    /// Never called under a lock.
    func tell(_ kind: Central.Event.Kind, of peripheral: BluetoothAddress? = nil, _ object: String = "") {
        let event = Central.Event(kind, of: peripheral, object: object, at: timeline.wallTime)
        for handler in handlers { handler.handle(event) }
    }

    /// A link has been made; nothing is reported yet, since it may turn out to be of no use.
    ///
    /// - Returns: what ``linkClosed(to:_:_:)`` needs to tell it from others.
    func linkOpened(to peripheral: BluetoothAddress) -> Announcements {
        let news = Announcements()
        links.withLock { $0[peripheral] = news }
        return news
    }

    /// Reports that a link can be used, unless its end was reported: it may be lost just then.
    func linkIsReady(to peripheral: BluetoothAddress, after time: Duration) {
        let news = links.withLock { links in
            let news = links[peripheral]
            news?.add { self.tell(.connected(after: time), of: peripheral) }
            return news
        }
        news?.make()
    }

    /// Reports that a link has ended, behind its beginning.
    ///
    /// - Parameter end: what to report; `nil`: nothing.
    func linkClosed(to peripheral: BluetoothAddress, _ news: Announcements, _ end: Central.Event.Kind?) {
        links.withLock { links in
            if links[peripheral] === news { links[peripheral] = nil }
            if let end { news.add { self.tell(end, of: peripheral) } }
        }
        news.make()
    }

    /// Reports the end of an operation, without values.
    func ended(
        _ operation: String,
        _ object: OperationObject,
        since begin: Duration,
        throwing error: (any Error)? = nil
    ) {
        var error = error as? BLEError
        error?.dropReceived()
        let kind = Central.Event.Kind.operation(operation, took: timeline.now - begin, error: error)
        tell(kind, of: object.peripheral, object.attribute)
    }
}

/// Reports the traffic of a radio's links.
final class EventTap: TrafficObserver {
    private struct Link {
        let peer: BluetoothAddress
        let begin: Duration
        /// What is told of it.
        let news: Announcements
    }

    private struct State {
        var board: EventBoard?
        var adapter = AdapterInfo(name: "", address: nil, state: .unknown)
        var links: [UInt16: Link] = [:]
        var lastNumber: UInt16 = 0
    }

    private let timeline: any Timeline
    private let state = Mutex(State())

    init(_ timeline: any Timeline) { self.timeline = timeline }

    /// Reports to this board from now on.
    func tell(_ board: EventBoard) { state.withLock { $0.board = board } }

    var adapter: AdapterInfo {
        get { state.withLock { $0.adapter } }
        set { state.withLock { $0.adapter = newValue } }
    }

    func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID? {
        guard role == .central else { return nil }
        let (peer, begin) = (radioLink.peer, timeline.now)
        return state.withLock { state in
            guard let board = state.board, state.links.count < Int(UInt16.max) else { return nil }
            repeat { state.lastNumber &+= 1 } while state.links[state.lastNumber] != nil
            state.links[state.lastNumber] = Link(peer: peer, begin: begin, news: board.linkOpened(to: peer))
            return LinkID(handle: state.lastNumber)
        }
    }

    func linkClosed(_ link: LinkID, _ reason: DisconnectReason) {
        closed(link) { .disconnected(reason, after: timeline.now - $0.begin) }
    }

    /// Nobody was told that it was up.
    func linkUnused(_ link: LinkID) { closed(link) { _ in nil } }

    /// - Parameter end: what to report; `nil`: nothing.
    private func closed(_ link: LinkID, _ end: (Link) -> Central.Event.Kind?) {
        let (board, gone) = state.withLock { ($0.board, $0.links.removeValue(forKey: link.handle)) }
        guard let board, let gone else { return }
        board.linkClosed(to: gone.peer, gone.news, end(gone))
    }

    func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool {
        switch pdu.bytes.first.map(ATTOpcode.init)?.kind {
        case .notification, .indication: tell(.values(1), link)
        default: break
        }
        return true
    }

    func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool) {
        (send(), true)
    }

    func lost(_ count: Int, _ link: LinkID) -> Bool {
        tell(.dropped(count), link)
        return true
    }

    func measured(_ rssi: Int, _ link: LinkID) {
        let (board, peer) = state.withLock { ($0.board, $0.links[link.handle]?.peer) }
        // The radio may answer behind the end of the link: without a peripheral, that would be an event of the adapter.
        if let board, let peer { board.tell(.signal(rssi), of: peer) }
    }

    func reported(_ reports: [AdvertisingReport]) {}
    func reportsLost(_ count: Int) { state.withLock { $0.board }?.tell(.dropped(count)) }

    private func tell(_ kind: Central.Event.Kind, _ link: LinkID) {
        let (board, peer) = state.withLock { ($0.board, $0.links[link.handle]?.peer) }
        board?.tell(kind, of: peer)
    }
}
