import BLEProtocol
import BLERadio

/// How long a command waits for a link and for its turn on it, together.
struct TurnLimit {
    /// How long in all, and until when.
    let total: Duration
    let end: Duration
    private let peripheral: Peripheral
    private let timeline: any Timeline

    init(_ total: Duration, on peripheral: Peripheral, _ timeline: any Timeline) {
        self.total = total
        self.peripheral = peripheral
        self.timeline = timeline
        end = timeline.now + total
    }

    /// What is left, and the error if another user still has exclusive use of the link then.
    var rest: (duration: Duration, error: @Sendable () -> any Error) {
        let error: @Sendable () -> any Error = { [peripheral, total] in
            BLEError.timedOut(
                "hold the link",
                object: "of \(peripheral)",
                after: total,
                waitingFor: CommandDelay.held.wait
            )
        }
        return (max(.zero, end - timeline.now), error)
    }
}
