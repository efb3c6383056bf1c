import BLEProtocol
public import BLERadio
import Synchronization

extension Link {
    /// Raises the link to a security level, unless it has reached that already.
    ///
    /// ```swift
    /// try await peripheral.withLink { link in
    ///     try await link.secure(to: .authenticated, answers: .passkey(123_456))
    ///     try await link.write([1], to: BluetoothUUID(0xFFF2))
    /// }
    /// ```
    ///
    /// If there is a bond, the link is encrypted with its keys; if there is none, or its keys are of a lower level, the
    /// two devices pair, again if necessary. A stored bond is never replaced by a weaker one. Meanwhile the link's
    /// other operations wait, and received values are delivered. A peripheral may send values at the beginning of a
    /// link that nobody has subscribed to yet: those that came before the link had this level are not delivered to
    /// later streams, and count as dropped there.
    ///
    /// On a link that is already encrypted, Linux asks a person only as announced before the link was made, with
    /// `withLink(pairing:)`, ``Peripheral/allowPairing(_:)`` or for the ``Central``; and not while bluetoothd runs,
    /// whose agent is used then. Out-of-band data alone can't improve the keys of such a link. Pairing requires the
    /// capability `CAP_NET_ADMIN`. Cancellation ends it, unless others wait for it too. Source: Core Specification, Vol
    /// 3, Part C, 10.3.
    ///
    /// - Parameters:
    ///   - level: the required level.
    ///   - answers: the answers to a pairing's questions; `nil`: those set for the link, the peripheral or the central,
    ///     if any.
    ///   - timeout: how long it may take, including the time for answers; the Security Manager gives each step 30 s.
    /// - Throws: ``BLEError/Code/securityFailed``, which states the level that was reached, with its
    ///   ``BLEError/pairingFailure`` if a pairing failed; ``BLEError/Code/permissionDenied``,
    ///   ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, ``BLEError/Code/notSupported`` if the radio can't
    ///   pair, `CancellationError`.
    public func secure(
        to level: LinkSecurity.Level,
        answers: PairingAnswers? = nil,
        timeout: Duration = .seconds(60)
    ) async throws {
        try await raise(to: level, answers: answers ?? self.answers, timeout: timeout, operation: "secure link")
        bearer.dropEarly(below: level)
    }

    /// The link's protection: its present state, then each change.
    ///
    /// - Returns: a stream that ends when this side closes the link.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason when the link is lost.
    public var securityChanges: BLEStream<LinkSecurity> {
        let (radioLink, raiser, object) = (bearer.radioLink, raiser, "of \(peripheral)")
        let subject = StreamSubject(operation: "security changes", object: object)
        return BLEStream(subject, timeline: timeline, buffer: .standard) { mailbox in
            let last = Mutex<LinkSecurity?>(nil)
            // One look at a time: of two on different threads, the earlier one might be told behind the later one.
            let looks = Announcements()
            let look: @Sendable () -> Void = {
                let now = radioLink.security
                let isNew = last.withLock { last in
                    defer { last = now }
                    return last != now
                }
                if isNew { mailbox.send(now) }
            }
            let tell: @Sendable () -> Void = {
                looks.add(look)
                looks.make()
            }
            let leave = raiser.watch(tell)
            let activity = radioLink.observeSecurity(tell)
            tell()
            let forget = self.onEnd { [weak mailbox] reason in
                let isOurs = reason.kind == .closedLocally
                let error = BLEError.linkEnded(reason, operation: "security changes", object: object)
                looks.add { [weak mailbox] in mailbox?.finish(throwing: isOurs ? nil : error) }
                looks.make()
            }
            return {
                forget()
                leave()
                activity.cancel()
            }
        }
    }

    func raise(to level: LinkSecurity.Level, answers: PairingAnswers?, timeout: Duration, operation: String)
        async throws
    {
        if let current = security.level, current >= level { return }
        let object = "with \(peripheral)"
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: object) }
        let limit: @Sendable () -> any Error = {
            BLEError.pairingTimedOut(operation, object: object, after: timeout)
        }
        let (raiser, answers) = (raiser, answers ?? PairingAnswers())
        do {
            try await reply(on: timeline, limit: (timeout, limit)) { finish in
                raiser.raise(to: level, answers: answers, isRefused: false) { finish($0.mapError { $0 as any Error }) }
            }
        } catch {
            await raiser.answersEnded()
            throw error
        }
        await raiser.answersEnded()
    }
}
