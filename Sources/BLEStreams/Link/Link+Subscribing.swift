public import BLEProtocol
import BLERadio

extension Link {
    /// Switches the values of a characteristic on, and waits until the peer has said that it sends them.
    ///
    /// - Parameters:
    ///   - limit: how long to wait for that, and the error to throw then.
    ///   - deliver: takes each value, in order, on the radio's context.
    ///   - lost: hears of values that were dropped before they came here.
    ///   - ended: called once when no more come because of the link or the peer; without an error when this side closed.
    /// - Returns: a closure that switches them off again.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool = false,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        deliver: @escaping @Sendable (CharacteristicValue) -> Void,
        lost: @escaping @Sendable (Int) -> Void = { _ in },
        ended: @escaping @Sendable (BLEError?) -> Void = { _ in }
    ) async throws -> @Sendable () -> Void {
        let object = "of \(selector) of \(peripheral)"
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: "notifications", object: object) }
        let closed = BLEError.linkEnded(
            DisconnectReason(.closedLocally),
            operation: "notifications",
            object: object
        )
        return try await reply(on: timeline, limit: limit) { finish in
            let subscription = Ending<Void>()
            let consumer = ValueConsumer(
                object: object,
                deliver: { for value in $0 { deliver(value) } },
                lost: lost,
                finish: { error in
                    finish(.failure(error ?? closed))
                    ended(error)
                },
                armed: { finish(.success { subscription.end() }) },
                answers: whoAnswers
            )
            subscription.undo(bearer.subscribe(selector, indications: indications, pass: pass, consumer))
            return { subscription.end() }
        }
    }

    /// Writes a request and waits for the answer, which another characteristic notifies.
    ///
    /// The answer is subscribed to, and the peer has confirmed that, before the request leaves: an answer that comes at
    /// once isn't lost. Afterwards it is switched off, unless somebody else subscribes to it.
    ///
    /// - Parameters:
    ///   - request: what is written; with response where the characteristic can, else without.
    ///   - uuid: the characteristic that takes the request.
    ///   - answer: the characteristic that notifies or indicates the answer; it may be the same one.
    ///   - timeout: how long all of it may take: waiting for the link, switching on, the request and the answer.
    ///   - isWanted: whether a value is the answer; the first one unless said otherwise.
    /// - Throws: as ``write(_:to:in:_:timeout:)`` and ``notifications(of:in:indications:buffer:)``;
    ///   ``BLEError/Code/timedOut``.
    public func request(
        _ request: some Collection<UInt8>,
        to uuid: BluetoothUUID,
        answeredOn answer: BluetoothUUID,
        timeout: Duration = .seconds(30),
        where isWanted: @Sendable (CharacteristicValue) -> Bool = { _ in true }
    ) async throws -> CharacteristicValue {
        let object = "of \(answer) of \(peripheral)"
        let deadline = timeline.now + timeout
        let error: @Sendable () -> any Error = {
            BLEError.timedOut("request", object: object, after: timeout, waitingFor: "no answer came")
        }
        var left: Duration { max(.zero, deadline - timeline.now) }
        let inbox = Inbox<CharacteristicValue>(timeline: timeline)
        let closed = BLEError.linkEnded(DisconnectReason(.closedLocally), operation: "request", object: object)
        let unsubscribe = try await subscribe(
            .uuid(answer, service: nil),
            limit: (left, error),
            deliver: { inbox.send($0) },
            ended: { inbox.finish($0 ?? closed) }
        )
        defer { unsubscribe() }
        do {
            let target = try await characteristic(.uuid(uuid, service: nil), operation: "request", timeout: left)
            let kind: WriteKind = target.properties.contains(.write) ? .withResponse : .withoutResponse
            try await write(request, to: target, kind, timeout: left)
        } catch let failure as BLEError where failure.code == .timedOut && !failure.isFinal {
            throw error()
        }
        while true {
            let value = try await inbox.next(limit: (left, error))
            if isWanted(value) { return value }
        }
    }
}
