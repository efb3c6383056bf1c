public import BLEProtocol
import BLERadio

extension Link {
    /// The present conditions of the link: times, PHYs, packet lengths, signal strength.
    ///
    /// - Returns: what this program may know; ``LinkConditions/whyIncomplete`` states why the rest is missing.
    /// - Throws: `CancellationError`; ``BLEError/Code/timedOut`` after five seconds without an answer.
    public func conditions() async throws -> LinkConditions {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.adapterTimedOut("conditions", object: object, after: .seconds(5))
        }
        return try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.readConditions { finish(.success(self.conditionWatch.judge($0))) }
            return {}
        }
    }

    /// The conditions of the link: now, and after each change that the peripheral or this side requested; also when the
    /// library's response to a breach of ``ConnectionParameters/Limits`` changes.
    ///
    /// A change of the signal strength alone is not reported; use ``conditions()`` for it.
    ///
    /// - Returns: a stream that ends when this side closes the link. If the controller's events can't be received (on
    ///   Linux without `CAP_NET_RAW`), it has only the first element.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason if the link is lost.
    public var conditionChanges: BLEStream<LinkConditions> {
        let (link, watch, object) = (bearer.radioLink, conditionWatch, "of \(peripheral)")
        let subject = StreamSubject(operation: "condition changes", object: object)
        return BLEStream(subject, timeline: timeline, buffer: .standard) { mailbox in
            let leave = watch.watch { mailbox.send($0) }
            link.readConditions { mailbox.send(watch.judge($0)) }
            let forget = self.onEnd { [weak mailbox] reason in
                let isOurs = reason.kind == .closedLocally
                let error = BLEError.linkEnded(reason, operation: "condition changes", object: object)
                mailbox?.finish(throwing: isOurs ? nil : error)
            }
            return {
                forget()
                leave()
            }
        }
    }

    /// Requests other connection parameters, and keeps the link within their limits; if the radio refuses, within those
    /// that applied so far.
    func change(to parameters: ConnectionParameters) {
        // The former limits would undo the change.
        let former = conditionWatch.letGo()
        bearer.radioLink.request(parameters) { [conditionWatch] outcome in
            switch outcome {
            case .success: conditionWatch.keep(parameters, haveBeenAskedFor: true)
            case .failure: conditionWatch.keep(former)
            }
        }
    }

    /// Requests other connection parameters; ``conditionChanges`` reports the result.
    func request(_ parameters: ConnectionParameters) async throws {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.adapterTimedOut("change parameters", object: object, after: .seconds(5))
        }
        try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.request(parameters) { finish($0.mapError { $0 as any Error }) }
            return {}
        }
    }
}
