public import BLEProtocol
import BLERadio
import Synchronization

extension Link {
    /// Switches the values of a characteristic on, and waits until the peer has said that it sends them.
    ///
    /// - Parameters:
    ///   - deliver: takes each value, in order, on the radio's context.
    ///   - lost: hears of values that were dropped before they came here.
    ///   - ended: called once when no more come because of the link or the peer; without an error when this side closed.
    /// - Returns: a closure that switches them off again.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool = false,
        deliver: @escaping @Sendable (CharacteristicValue) -> Void,
        lost: @escaping @Sendable (Int) -> Void = { _ in },
        ended: @escaping @Sendable (BLEError?) -> Void = { _ in }
    ) async throws -> @Sendable () -> Void {
        let object = "of \(selector) of \(peripheral)"
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: "notifications", object: object) }
        return try await reply(on: timeline) { finish in
            let box = UndoBox()
            let subscriber = LinkAttributes.Subscriber(
                object: object,
                deliver: { for value in $0 { deliver(value) } },
                lost: lost,
                finish: { error in
                    finish(.failure(error ?? CancellationError()))
                    ended(error)
                },
                armed: { finish(.success { box.run() }) }
            )
            box.set(attributes.subscribe(selector, indications: indications, pass: pass, subscriber))
            return { box.run() }
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
    ///   - timeout: how long to wait for the answer.
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
        let inbox = Inbox<CharacteristicValue>(timeline: timeline)
        let unsubscribe = try await subscribe(
            .uuid(answer, service: nil),
            deliver: { inbox.send($0) },
            ended: { inbox.finish($0 ?? CancellationError()) }
        )
        defer { unsubscribe() }
        let target = try await characteristic(.uuid(uuid, service: nil), operation: "request", timeout: timeout)
        try await write(request, to: target, target.properties.contains(.write) ? .withResponse : .withoutResponse)
        let deadline = timeline.now + timeout
        while true {
            let error: @Sendable () -> any Error = {
                BLEError.timedOut("request", object: object, after: timeout, waitingFor: "no answer came")
            }
            let value = try await inbox.next(limit: (max(.zero, deadline - timeline.now), error))
            if isWanted(value) { return value }
        }
    }
}

/// What undoes something that may be over before it is known how to undo it.
private final class UndoBox: Sendable {
    private struct State {
        var undo: (@Sendable () -> Void)?
        var isOver = false
    }

    private let state = Mutex(State())

    func set(_ undo: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.undo = undo }
            return state.isOver
        }
        if isOver { undo() }
    }

    func run() {
        let undo = state.withLock { state in
            state.isOver = true
            return state.undo.take()
        }
        undo?()
    }
}
