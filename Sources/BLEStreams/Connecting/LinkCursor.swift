import BLEProtocol
import BLERadio
import Synchronization

/// One iteration of ``Peripheral/stream(timeout:parameters:pairing:_:)``: waits for a link, then iterates the stream on
/// it.
final class LinkCursor<Element: Sendable> {
    private let body: (Link) -> BLEStream<Element>
    private let tally: Tally
    private let waker: Waker
    private let arrival = LinkArrival()
    /// Abandons the attempt to connect, if there is one.
    private var cancel: (() -> Void)?
    private var inner: Cursor<Element>?
    private var isStopped = false

    init(
        _ peripheral: Peripheral,
        _ wish: Connector.Wish,
        _ body: @escaping (Link) -> BLEStream<Element>,
        _ tally: Tally,
        _ waker: Waker
    ) {
        self.body = { body($0.answering(wish.pairing)) }
        self.tally = tally
        self.waker = waker
        cancel = peripheral.core.connector.connect(to: peripheral, wish) { [arrival] result in
            arrival.put(result)
            waker.wake()
        }
    }

    func poll() throws -> Polled<Element> {
        do {
            return try pollTheLink()
        } catch let error as BLEError {
            // Even if it was lost in its first steps: the next iteration makes a new one.
            throw error.forNextLink
        }
    }

    private func pollTheLink() throws -> Polled<Element> {
        if inner == nil {
            // An attempt that had failed before the stop is told of, as a link that had ended is.
            let arrived = try arrival.take()
            if isStopped { return .end }
            guard let link = arrived else { return .pending }
            cancel = nil
            let stream = body(link)
            tally.began(self) { stream.counters }
            inner = stream.open(waker)
        }
        return try inner?.poll() ?? .end
    }

    func unfinished(_ scope: UnfinishedScope) -> UnfinishedParts { inner?.unfinished(scope) ?? UnfinishedParts() }

    func stop() {
        isStopped = true
        arrival.stop()
        inner?.stop()
    }

    func close() {
        cancel.take()?()
        inner?.close()
        arrival.close()
        tally.ended(self)
    }
}

/// The result of an attempt to connect: a link or an error; a link that comes too late is released.
private final class LinkArrival: Sendable {
    private enum State {
        case waiting
        /// In a box, since it is rare: the error is larger than everything else here.
        case failed(any Error)
        case up(Link)
        case closed
    }

    private let state = Mutex(State.waiting)

    func put(_ result: Result<Link, BLEError>) {
        let unwanted = state.withLock { state -> Link? in
            switch (state, result) {
            case (.closed, .success(let link)): return link
            case (.closed, .failure): break
            case (_, .success(let link)): state = .up(link)
            case (_, .failure(let error)): state = .failed(error)
            }
            return nil
        }
        unwanted.map(Link.giveUp)
    }

    /// The link, if it is up.
    func take() throws -> Link? {
        switch state.withLock({ $0 }) {
        case .waiting, .closed: return nil
        case .up(let link): return link
        case .failed(let error): throw error
        }
    }

    /// What comes from now on is not wanted: neither a link nor an error.
    func stop() {
        state.withLock { state in
            if case .waiting = state { state = .closed }
        }
    }

    func close() {
        let link = state.withLock { state in
            defer { state = .closed }
            if case .up(let link) = state { return Optional(link) } else { return nil }
        }
        link?.beginClosing()
    }
}
