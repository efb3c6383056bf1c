import BLEProtocol
import BLERadio

/// Sees to it that characteristics for which the program demands a more secure link are used over nothing less, on one link.
final class SecurityDemands: Sendable {
    typealias Answers = @Sendable () -> PairingAnswers?

    private let peripheral: BluetoothAddress
    private let preferences: LinkPreferences
    private let raiser: SecurityRaiser

    init(of peripheral: BluetoothAddress, _ preferences: LinkPreferences, _ raiser: SecurityRaiser) {
        self.peripheral = peripheral
        self.preferences = preferences
        self.raiser = raiser
    }

    /// Whether nothing is demanded of links to the peripheral.
    var areNone: Bool { preferences.demands(on: peripheral).isEmpty }

    /// The level that the link still lacks for the use of any of these; `nil` where it is secure enough.
    func missing(for characteristics: [BluetoothUUID]) -> SecurityLevel? {
        let demands = preferences.demands(on: peripheral)
        guard let demanded = characteristics.compactMap({ demands[$0] }).max() else { return nil }
        return raiser.level.map { $0 >= demanded } == true ? nil : demanded
    }

    /// Raises the link where it is to be more secure for the use of these; calls back at once where it needn't.
    ///
    /// - Parameter wish: ends when nobody waits for it any more; no call comes then.
    func fulfil(
        for characteristics: [BluetoothUUID],
        operation: String,
        object: String,
        answers: Answers,
        until wish: Ending<Void>,
        _ result: @escaping @Sendable (BLEError?) -> Void
    ) {
        guard let level = missing(for: characteristics) else { return result(nil) }
        let leave = raiser.raise(to: level, answers: answers() ?? PairingAnswers(), isRefused: false) { outcome in
            result(outcome.failure.map { .demand(level, notMetFor: operation, object, because: $0) })
        }
        wish.undo(leave)
    }
}

extension BLEError {
    /// An operation that was not carried out, since the link isn't as secure as the program wants it for that.
    fileprivate static func demand(
        _ level: SecurityLevel,
        notMetFor operation: String,
        _ object: String,
        because error: BLEError
    ) -> BLEError {
        var failure = error
        failure.operation = operation
        failure.object = object
        failure.cause = "the link is to be \(level) for it: \(error.cause)"
        return failure
    }
}
