import BLEProtocol
import Synchronization

/// Problems reported to the program that make no call fail. A recurring one is reported the 1st, the 10th and the 100th
/// time, and so on: a central can't fill a log, under whatever addresses it comes.
final class ServerWarnings: Sendable {
    /// A kind of problem, counted separately for each characteristic or central; `nil`: for further ones together.
    enum Kind: Hashable {
        case nobodyReads(UInt16?)
        case nobodyTakesWrites(UInt16?)
        case unanswered(UInt16?)
        case closureFailed(UInt16?)
        case flood(BluetoothAddress?)
        case lostWrites(BluetoothAddress?)
        case subscriptionFlood(BluetoothAddress?)
        case brokenMessage(BluetoothAddress?)
        // Each reason is counted separately: a new one is told, however often the others were.
        /// The reason tells an attempt by somebody else from a central's own failures.
        case encryptionFailed(BluetoothAddress?, PairingFailure?)
        case interrupted(BLEError.Code)
        /// A central could not be accepted, or another program got it.
        case notAccepted(BLEError.Code)
        case advertisementRefused(BLEError.Code)
        case pairingsNotAnswered(BLEError.Code)
        case bondsNotRestored(BLEError.Code)

        /// The same problem, whichever characteristic or central has it.
        fileprivate var ofAny: Kind {
            switch self {
            case .nobodyReads: .nobodyReads(nil)
            case .nobodyTakesWrites: .nobodyTakesWrites(nil)
            case .unanswered: .unanswered(nil)
            case .closureFailed: .closureFailed(nil)
            case .flood: .flood(nil)
            case .lostWrites: .lostWrites(nil)
            case .subscriptionFlood: .subscriptionFlood(nil)
            case .brokenMessage: .brokenMessage(nil)
            case .encryptionFailed(_, let failure): .encryptionFailed(nil, failure)
            case .interrupted, .notAccepted, .advertisementRefused, .pairingsNotAnswered, .bondsNotRestored: self
            }
        }
    }

    /// How many are counted separately. Centrals may come under any number of addresses: from then on, what is new of a
    /// central is counted together with what is new of others, and fills neither the memory nor the log.
    private static let mostKinds = 256

    private struct State {
        var counts: [Kind: Int] = [:]
        /// Tells the program; `nil` once the peripheral has ended.
        var warning: PeerStore.Warning?
    }

    private let errands: Errands
    private let state: Mutex<State>

    init(_ warning: @escaping PeerStore.Warning, _ errands: Errands) {
        state = Mutex(State(warning: warning))
        self.errands = errands
    }

    /// Tells the program, unless it was told often enough.
    ///
    /// - Parameter error: makes the error from the number of times so far.
    func tell(_ kind: Kind, _ error: (Int) -> BLEError) {
        let (count, warning) = state.withLock { state -> (Int, PeerStore.Warning?) in
            let kind = state.counts.count >= Self.mostKinds && state.counts[kind] == nil ? kind.ofAny : kind
            state.counts[kind, default: 0] += 1
            let count = state.counts[kind, default: 1]
            return (count, Self.isRound(count) ? state.warning : nil)
        }
        guard let warning else { return }
        let told = error(count)
        errands.leave { warning(told) }
    }

    /// Tells the program that a central has left, and that so many of its writes without response are lost.
    @Sendable func lostWrites(of central: BluetoothAddress, _ count: Int) {
        tell(.lostWrites(central)) { _ in .lostWrites(count, "by \(central)") }
    }

    /// The peripheral has ended, and the program is told nothing more. Its closure may keep the server, to see which
    /// centrals are there: kept any longer, each would keep the other for ever.
    func release() {
        let former = state.withLock { $0.warning.take() }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Whether a number is 1, 10, 100 and so on.
    static func isRound(_ count: Int) -> Bool {
        var rest = count
        while rest % 10 == 0 { rest /= 10 }
        return rest == 1
    }
}

extension BLEError {
    /// A dynamic value was read or written, and the program doesn't iterate the stream that answers.
    static func nobodyIterates(_ stream: String, _ operation: String, _ object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "the value is dynamic, but the program does not iterate PeripheralServer.\(stream)",
            remedy: "Iterate it while the peripheral runs, or declare the value as .stored."
        )
    }

    /// The radio no longer answers the pairings that centrals begin; the peripheral is still served.
    static func pairingsNotAnswered(because error: BLEError) -> BLEError {
        BLEError(
            error.code,
            operation: "receive pairings",
            object: error.object,
            cause: "centrals can no longer pair; those with a bond are not affected: \(error.cause)",
            remedy: error.remedy + " Then call LocalPeripheral.run(on:) again."
        )
    }

    /// - Parameter byClosure: whether the characteristic's closure was to answer, and not a stream's consumer.
    static func unanswered(
        _ operation: String,
        _ object: String,
        after patience: Duration?,
        byClosure: Bool
    ) -> BLEError {
        if byClosure, let patience {
            return BLEError(
                .timedOut,
                operation: operation,
                object: object,
                cause: "its closure did not return within \(patience), so the \(operation) was refused",
                remedy: "Return within that time, or throw an ATTError; leave longer work to a task of its own."
            )
        }
        return BLEError(
            patience == nil ? .ended : .timedOut,
            operation: operation,
            object: object,
            cause: patience.map { "the program did not answer within \($0), so the central was refused" }
                ?? "the program released the request without an answer, so the central was refused",
            remedy: "Answer each request once, with respond(_:), accept() or reject(_:)."
        )
    }

    static func flood(_ object: String, dropped: Int) -> BLEError {
        BLEError(
            .overflow,
            operation: "writes",
            object: object,
            cause:
                "it writes faster than the program takes writes: \(Allowance.ofEach) of them are waiting, and further "
                + "ones are dropped (\(dropped) so far)",
            remedy: "Take writes faster, or drop its link with ConnectedCentral.disconnect()."
        )
    }

    /// A central has left, and what it had written without response waited for closures for too long after that.
    static func lostWrites(_ count: Int, _ object: String) -> BLEError {
        let (writes, these) = count == 1 ? ("1 write", "it is") : ("\(count) writes", "they are")
        return BLEError(
            .timedOut,
            operation: "write",
            object: object,
            cause:
                "it has left, and its closures were not through with \(writes) without response "
                + "\(ClosureCalls.patience) later, so \(these) lost",
            remedy: "Return from the closures sooner; leave longer work to a task of its own."
        )
    }

    static func subscriptionFlood(_ object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: "subscriptions",
            object: object,
            cause:
                "it has changed its subscriptions \(Allowance.ofEach) times since the program took one, so its link "
                + "was dropped",
            remedy: "Take subscriptions as they arrive; do longer work for one in a task of its own."
        )
    }
}
