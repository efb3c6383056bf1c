public import BLEProtocol
import BLERadio

/// A peripheral as a central sees it: an address to connect to. A value; it holds no connection.
public struct Peripheral: Sendable {
    let core: CentralCore

    /// Its address; while its kind is unknown, with the likelier kind.
    public let address: BluetoothAddress

    /// Other addresses that it may have instead: the same octets with the other kind.
    let alternatives: [BluetoothAddress]

    init(core: CentralCore, address: BluetoothAddress, alternatives: [BluetoothAddress] = []) {
        self.core = core
        self.address = address
        self.alternatives = alternatives
    }

    /// Whether there is a link to it, of this program or another one on this machine.
    var hasLink: Bool { core.connector.link(to: self) != nil || core.radio.hasLink(to: address) }

    /// Its connection to this central: the present state, then each transition; none is merged away.
    ///
    /// The stream never ends by itself, and doesn't connect.
    public var connectionStates: BLEStream<Peripheral.ConnectionState> {
        let (core, address) = (core, address)
        let subject = StreamSubject(operation: "connection states", object: "of \(address)")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            core.states.watch(address, mailbox)
        }
    }

    /// Connects, runs the closure with the link, and drops the link: on return, on throw and on cancellation.
    ///
    /// Use it for one exchange with a peripheral, which fails if the link is lost. To follow values across lost links,
    /// use ``stream(timeout:parameters:pairing:_:)`` with `retry`, or a ``Session``; for operations that are retried,
    /// commands in ``withQueue(_:)``.
    ///
    /// Connecting includes the negotiation of the MTU; a peripheral that refuses it, or leaves it unanswered for 5 s,
    /// is used with 23. If Linux still has the connection of an earlier program, this call ends it first, and connects
    /// anew. Without `CAP_NET_ADMIN`, and on Linux 6.1, it takes that connection over: an answer to the earlier program
    /// is never taken for an answer to this one, and the MTU is negotiated again.
    ///
    /// A connection that failed to be established, the commonest failure on air, is retried within the time limit:
    /// three times immediately, then after pauses of 250 ms to 4 s. So is a link that was lost before anything was
    /// received on it; nothing is repeated once the closure has the link. Before the link is dropped, subscriptions
    /// that the closure left on are switched off, for at most two seconds.
    ///
    /// A peripheral has one link at a time. If a stream, a session or another `withLink` of this central has one, the
    /// closure runs on that link immediately, and the link is dropped when the last of them has ended. Their operations
    /// take turns; ``Link/exclusively(_:)`` keeps several together.
    ///
    /// - Parameters:
    ///   - timeout: for how long to try, on the radio's clock; 30 s by default.
    ///   - parameters: the parameters of the link, if this call makes it; `nil`: the preference for the peripheral
    ///     (``prefer(_:)``), or the central's.
    ///   - pairing: who answers when an operation of this call requires a more secure link; `nil`: the answers set for
    ///     the peripheral (``allowPairing(_:)``), or for the central. See ``PairingAnswers``.
    ///   - body: what to do with the link; the link is of no use after it has returned.
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/timedOut``, ``BLEError/Code/busy``, ``BLEError/Code/connectionFailed``,
    ///   ``BLEError/Code/disconnected`` or an error of the adapter if no link could be made; what the closure throws;
    ///   `CancellationError`.
    public func withLink<Output>(
        timeout: Duration = .seconds(30),
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        let wish = Connector.Wish(timeout: timeout, parameters: parameters, pairing: pairing)
        let link = try await connect(wish).answering(pairing)
        do {
            let output = try await body(link)
            await link.close()
            return output
        } catch {
            await link.close()
            throw error
        }
    }

    private func connect(_ wish: Connector.Wish) async throws -> Link {
        do {
            return try await core.connector.connect(to: self, wish)
        } catch let error as BLEError {
            // It may have been lost in its first steps: another call makes a new one.
            throw error.forNextLink
        }
    }

    /// A stream over a link: connects when it is iterated, and drops the link when the iteration ends.
    ///
    /// Use it for the values of a known peripheral, with operators such as `retry`. A ``Session`` also finds the
    /// peripheral, keeps its subscriptions over all links, waits for the adapter, and reports its state.
    ///
    /// A peripheral has one link at a time. Streams iterated at the same time share it, also with
    /// ``withLink(timeout:parameters:pairing:_:)``: the first one connects, the others wait for it, each within its own
    /// `timeout`, and the link is dropped with the last one. When the link is lost, all of them fail, and those that
    /// retry share the next one:
    ///
    /// ```swift
    /// let beats = sensor.stream { $0.notifications(of: .heartRateMeasurement) }.retry().map { "\($0.beatsPerMinute)" }
    /// let charge = sensor.stream { $0.notifications(of: .batteryLevel) }.retry().map { "\($0) %" }
    /// for try await line in beats.merge(with: charge) { print(line) }
    /// ```
    ///
    /// The loop returns as soon as the iteration has ended; the link is down a moment later, when ``connectionStates``
    /// reports it. A new attempt to connect waits for that automatically.
    ///
    /// When the link is lost the stream throws ``BLEError/Code/disconnected``; ``BLEStream/retry(_:when:)`` then
    /// connects again, so this follows a sensor indefinitely:
    ///
    /// ```swift
    /// for try await beat in sensor.stream({ $0.notifications(of: .heartRateMeasurement) }).retry(.exponential()) {
    ///     print(beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: for how long to try to connect.
    ///   - parameters: the parameters of the link; as in ``withLink(timeout:parameters:pairing:_:)``.
    ///   - pairing: who answers when the stream requires a more secure link, as there.
    ///   - body: the stream to iterate on the link; called once for each connection.
    public func stream<Element: Sendable>(
        timeout: Duration = .seconds(30),
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        _ body: @escaping @Sendable (Link) -> BLEStream<Element>
    ) -> BLEStream<Element> {
        let subject = StreamSubject(operation: "stream", object: "from \(address)")
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let wish = Connector.Wish(timeout: timeout, parameters: parameters, pairing: pairing)
            let cursor = LinkCursor(self, wish, body, tally, waker)
            return Cursor(poll: cursor.poll, unfinished: cursor.unfinished, stop: cursor.stop, close: cursor.close)
        }
        return BLEStream(subject, timeline: core.timeline, counting: StreamCounting(tally), open: open)
    }
}

extension Peripheral: Hashable {
    public static func == (left: Peripheral, right: Peripheral) -> Bool {
        left.core === right.core && left.address == right.address
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

extension Peripheral: CustomStringConvertible {
    /// Its address: `C4:F2:17:1A:1D:BB`.
    public var description: String { address.description }
}
