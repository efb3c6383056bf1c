public import BLEProtocol
import BLERadio

extension Link {
    /// What the link is like now: its times, PHYs, packet lengths, signal strength.
    ///
    /// - Returns: what this program may know; ``LinkConditions/whyIncomplete`` tells what keeps it from knowing the rest.
    /// - Throws: `CancellationError`; ``BLEError/Code/timedOut`` after five seconds without an answer.
    public func conditions() async throws -> LinkConditions {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.timedOut("conditions", object: object, after: .seconds(5), waitingFor: "no answer came")
        }
        return try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.readConditions { finish(.success(self.conditionWatch.judge($0))) }
            return {}
        }
    }

    /// What the link is like: now, and whenever the controller says that it has become another, since the peripheral or
    /// this side asked for it; and whenever something else is done about a peripheral that breaks ``ConnectionParameters/Limits``.
    ///
    /// The signal strength changes all the time, and comes with something else; ``conditions()`` asks for it.
    ///
    /// - Returns: a stream that ends when this side closes the link. Where the controller can't be heard (on Linux without
    ///   `CAP_NET_RAW`) there is no element but the first.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason when the link is lost.
    public var conditionChanges: BLEStream<LinkConditions> {
        let (link, watch, object) = (bearer.radioLink, conditionWatch, "of \(peripheral)")
        let subject = StreamSubject(operation: "condition changes", object: object)
        return BLEStream(subject, timeline: timeline, buffer: .standard) { mailbox in
            let leave = watch.watch { mailbox.send($0) }
            link.readConditions { mailbox.send(watch.judge($0)) }
            self.onEnd { [weak mailbox] reason in
                let isOurs = reason.kind == .closedLocally
                let error = BLEError.linkEnded(reason, operation: "condition changes", object: object)
                mailbox?.finish(throwing: isOurs ? nil : error)
            }
            return leave
        }
    }

    /// Asks for other connection parameters; what becomes of it, ``conditionChanges`` tells.
    func request(_ parameters: ConnectionParameters) async throws {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.timedOut("change parameters", object: object, after: .seconds(5), waitingFor: "no answer came")
        }
        try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.request(parameters) { finish($0.mapError { $0 as any Error }) }
            return {}
        }
    }
}
