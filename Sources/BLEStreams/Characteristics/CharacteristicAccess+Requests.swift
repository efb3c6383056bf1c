import BLEProtocol
import BLERadio

extension CharacteristicAccess {
    /// Writes a request and waits for the answer, which a characteristic notifies or indicates.
    ///
    /// The answer is subscribed to before the request is sent, and the peer has confirmed the subscription, so an
    /// immediate answer isn't lost; what comes before the request is written isn't the answer. Afterwards the
    /// subscription is switched off, unless another consumer has it too.
    ///
    /// - Parameters:
    ///   - request: what to write; with response if the characteristic allows it, otherwise without.
    ///   - key: the characteristic that takes the request.
    ///   - answer: the characteristic that notifies or indicates the answer; it may be the same one.
    ///   - timeout: the limit for all of it: waiting for the link, subscribing, the request and the answer. A session
    ///     first waits up to this long until it is ready and free.
    ///   - isWanted: whether a value is the answer; by default the first one is.
    /// - Throws: as ``write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)`` and
    ///   ``notifications(of:indications:buffer:)->BLEStream<Key.Value>``; ``BLEError/Code/timedOut``.
    public func request<Answer: CharacteristicKey>(
        _ request: some Collection<UInt8>,
        to key: some CharacteristicKey,
        answeredOn answer: Answer,
        timeout: Duration = .seconds(30),
        where isWanted: @Sendable (Answer.Value) -> Bool = { _ in true }
    ) async throws -> Answer.Value {
        let octets = Array(request)
        return try await withLink(for: .write, timeout: timeout) { link in
            try await link.exchange(octets, key.reference.selector, answer, timeout, isWanted)
        }
    }
}

extension Link {
    fileprivate func exchange<Answer: CharacteristicKey>(
        _ request: [UInt8],
        _ selector: CharacteristicSelector,
        _ answer: Answer,
        _ timeout: Duration,
        _ isWanted: @Sendable (Answer.Value) -> Bool
    ) async throws -> Answer.Value {
        let object = "of \(answer.reference) of \(peripheral)"
        let deadline = timeline.now + timeout
        let error: @Sendable () -> any Error = {
            BLEError.timedOut("request", object: object, after: timeout, waitingFor: "no answer came")
        }
        var left: Duration { max(.zero, deadline - timeline.now) }
        let inbox = Inbox<CharacteristicValue>(timeline: timeline)
        let closed = BLEError.linkEnded(DisconnectReason(.closedLocally), operation: "request", object: object)
        let unsubscribe = try await subscribe(
            answer.reference.selector,
            limit: (left, error),
            deliver: { inbox.send($0) },
            ended: { inbox.finish($0 ?? closed) }
        )
        defer { unsubscribe() }
        do {
            let target = try await characteristic(selector, operation: "request", timeout: left)
            let kind: Link.WriteKind = target.properties.contains(.write) ? .withResponse : .withoutResponse
            // From before this request: the late answer to an earlier one, or what a bonded peer sends unasked.
            inbox.removeAll { _ in true }
            try await write(request, to: target, kind, timeout: left)
        } catch let failure as BLEError where failure.code == .timedOut && !failure.isFinal {
            throw error()
        }
        while true {
            let value = try answer.value(of: try await inbox.next(limit: (left, error)), during: "request")
            if isWanted(value) { return value }
        }
    }
}
