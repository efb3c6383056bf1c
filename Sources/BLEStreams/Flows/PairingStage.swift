import BLEProtocol
import BLERadio
import Synchronization

/// How far a pairing has come, so that an error after the limit names the phase.
final class PairingStage: Sendable {
    static let operation = "pairing"

    private let state: Mutex<(phase: String, object: String)>
    private let onPhase: @Sendable (String) -> Void

    /// - Parameters:
    ///   - object: the device, as errors name it.
    ///   - onPhase: called at the beginning of each phase.
    init(_ object: String, onPhase: @escaping @Sendable (String) -> Void = { _ in }) {
        state = Mutex(("", object))
        self.onPhase = onPhase
    }

    /// Records the device that was found.
    func found(_ peripheral: Peripheral) { state.withLock { $0.object = "with \(peripheral)" } }

    /// Begins a phase.
    func begin(_ phase: String, in context: CommandContext? = nil) {
        state.withLock { $0.phase = phase }
        context?.begin(phase)
        onPhase(phase)
    }

    /// Runs the closure, and cancels it when the limit is over.
    func limited<Output: Sendable>(
        to limit: Duration,
        on timeline: any Timeline,
        _ body: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        try await ending(on: timeline, limit: (limit, { self.timedOut(after: limit) }), body)
    }

    private func timedOut(after limit: Duration) -> BLEError {
        let (phase, object) = state.withLock { $0 }
        let waiting = "the phase '\(phase)' was not done"
        var error = BLEError.timedOut(Self.operation, object: object, after: limit, waitingFor: waiting)
        error.remedy =
            switch phase {
            case "find": "Check that the device is on, near and advertising, or allow more time."
            case "connect": "Check that the device is near and not connected to another central, or allow more time."
            default: "Allow more time; if that does not help, switch the device off and on."
            }
        return error
    }
}
