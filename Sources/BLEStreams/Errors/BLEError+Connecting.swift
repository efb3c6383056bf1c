import BLEProtocol
import BLERadio

extension BLEError {
    /// No link to a peripheral came about within a limit; where the radio knows what kept it from trying, that is said.
    ///
    /// - Parameter failures: how many connections were made, and never established.
    static func connectTimedOut(_ peripheral: Peripheral, after limit: Duration, failures: Int = 0) -> BLEError {
        guard failures == 0 else { return neverEstablished(peripheral, failures, within: limit) }
        let obstacle = peripheral.core.radio.connectObstacle
        var error = BLEError(
            .timedOut,
            operation: "connect",
            object: "to \(peripheral.address)",
            cause: obstacle.map { "it could not be tried within \(limit): \($0.cause)" }
                ?? "the peripheral did not accept a connection within \(limit)",
            remedy: obstacle?.remedy
                ?? "Check that it is switched on, near, advertising, and not connected to another central. "
                + "Where a scan hears nothing at all, switch the adapter off and on with `Central.powerCycle()`."
        )
        error.elapsed = limit
        return error
    }

    private static func neverEstablished(
        _ peripheral: Peripheral,
        _ failures: Int,
        within limit: Duration
    ) -> BLEError {
        let times = failures == 1 ? "once" : "\(failures) times"
        var error = BLEError(
            .connectionFailed,
            operation: "connect",
            object: "to \(peripheral.address)",
            cause: "the connection failed to be established, \(times) within \(limit): "
                + "it accepts one, and is not heard on it",
            remedy: "Move closer to it, and away from other radios, then try again. Where it is near, restart it."
        )
        error.reason = DisconnectReason(.failedToEstablish)
        error.elapsed = limit
        return error
    }
}
