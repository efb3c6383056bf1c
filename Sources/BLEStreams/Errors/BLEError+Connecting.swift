import BLEProtocol
import BLERadio

extension BLEError {
    /// No link to a peripheral was made within a limit; the cause includes what kept the radio from trying, if it knows
    /// that.
    ///
    /// - Parameters:
    ///   - failures: how many connections were made but never established.
    ///   - refusers: the names of the joined adapters that had no connection slot.
    ///   - isBehindLine: whether a session gets the next slot of these.
    static func connectTimedOut(
        _ peripheral: Peripheral,
        after limit: Duration,
        failures: Int = 0,
        refusedBy refusers: [String] = [],
        isBehindLine: Bool = false
    ) -> BLEError {
        guard failures == 0 else { return neverEstablished(peripheral, failures, within: limit) }
        let obstacle = peripheral.core.radio.connectObstacle
        if obstacle == nil, !refusers.isEmpty {
            var error = onlyFullOnesHeard(peripheral, refusers, after: limit)
            if isBehindLine { error.remedy += " " + howToGetAwaitedSlot }
            return error
        }
        if obstacle == nil, peripheral.core.radio.hasLink(to: peripheral.address) {
            return .otherLinkStays(peripheral, after: limit)
        }
        return notConnected(
            to: peripheral,
            after: limit,
            cause: obstacle.map { "no attempt was possible within \(limit): \($0.cause)" }
                ?? "the peripheral did not accept a connection within \(limit)",
            remedy: obstacle?.remedy
                ?? "Check that it is switched on, in range, advertising, and not connected to another central. "
                + "If a scan finds no device at all, or no longer finds this one after a failed attempt, switch the "
                + "adapter off and on with `Central.powerCycle()`."
        )
    }

    /// The peripheral has a link with this machine that was not made for the caller. It responds, so there is nothing to
    /// check, and switching the adapter off and on would end that link.
    private static func otherLinkStays(_ peripheral: Peripheral, after limit: Duration) -> BLEError {
        notConnected(
            to: peripheral,
            after: limit,
            cause: "the peripheral did not accept a connection within \(limit): it has a link with this machine "
                + "already, as its central or through another program",
            remedy: "Try again when that link has ended. To end it, disconnect the central with "
                + "`ConnectedCentral.disconnect()`, or end the other program."
        )
    }

    /// The only ones of several joined adapters that have heard a peripheral had no connection slot.
    private static func onlyFullOnesHeard(
        _ peripheral: Peripheral,
        _ refusers: [String],
        after limit: Duration
    ) -> BLEError {
        let names = refusers.joined(separator: " and ")
        return notConnected(
            to: peripheral,
            after: limit,
            cause: "\(names) \(refusers.count == 1 ? "has" : "have") no free connection slot, and no other adapter has "
                + "heard the peripheral within \(limit)",
            remedy: "Close another link of \(names), or move the peripheral into range of another adapter."
        )
    }

    /// What helps where all slots are taken, and sessions wait in line for the next one.
    static let howToGetAwaitedSlot =
        "Sessions that wait for a slot get each one that becomes free: disconnect those first with "
        + "`Session.disconnect()`, or use a session here, too, which waits in line."

    /// A link was up, but could not be used yet when the limit expired.
    static func linkNotReady(_ peripheral: Peripheral, after limit: Duration) -> BLEError {
        notConnected(
            to: peripheral,
            after: limit,
            cause: "the peripheral accepted the connection, but the link was not ready within \(limit): its MTU, or "
                + "its encryption, was not agreed on",
            remedy: "A peripheral that doesn't answer the exchange of the MTU delays each link by 5 seconds: restart "
                + "it, or allow more time."
        )
    }

    /// The previous link to a peripheral was still closing when the limit expired: it was not asked for another one.
    static func formerLinkStays(_ peripheral: Peripheral, after limit: Duration) -> BLEError {
        notConnected(
            to: peripheral,
            after: limit,
            cause: "no attempt was possible within \(limit): the previous link to it is still closing",
            remedy: "The adapter may take half a minute to close a link while it connects to another device: try again "
                + "then, or allow more time. If that doesn't help, switch the adapter off and on with "
                + "`Central.powerCycle()`."
        )
    }

    /// The limit expired before the peripheral's turn on the radio: it was not asked for a link.
    static func othersConnect(_ peripheral: Peripheral, after limit: Duration) -> BLEError {
        notConnected(
            to: peripheral,
            after: limit,
            cause: "no attempt was possible within \(limit): the adapter is connecting to \(Connector.width) other "
                + "peripherals, which take turns with it",
            remedy: "Connect to fewer at the same time, or allow more time: one that is absent keeps its turn for 5 "
                + "seconds."
        )
    }

    private static func neverEstablished(
        _ peripheral: Peripheral,
        _ failures: Int,
        within limit: Duration
    ) -> BLEError {
        let times = failures == 1 ? "once" : "\(failures) times"
        var error = notConnected(
            .connectionFailed,
            to: peripheral,
            after: limit,
            cause: "the connection failed to be established, \(times) within \(limit): "
                + "the peripheral accepts it, but nothing is received from it",
            remedy: "Move closer to it, and away from other radios, then try again. If it is near, restart it."
        )
        error.reason = DisconnectReason(.failedToEstablish)
        return error
    }

    private static func notConnected(
        _ code: Code = .timedOut,
        to peripheral: Peripheral,
        after limit: Duration,
        cause: String,
        remedy: String
    ) -> BLEError {
        var error = BLEError(
            code,
            operation: "connect",
            object: "to \(peripheral.address)",
            cause: cause,
            remedy: remedy
        )
        error.elapsed = limit
        return error
    }
}
