package import BLEProtocol
package import BLERadio

/// The real time of a test on a machine that may be busy: what waits for a second or longer waits twenty times as long.
///
/// Deadlines are there to end what hangs. A test that answers in place of a kernel or a peer may itself be resumed
/// later than the deadline; what a test must see pass, it sees in virtual time.
package struct PatientTimeline: Timeline {
    private let real = RealTimeline()

    package init() {}

    package var now: Duration { real.now }
    package var wallTime: ReceptionTime { real.wallTime }
    package var clock: any Clock<Duration> { real.clock }
    package func randomBits() -> UInt64 { real.randomBits() }

    package func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        real.schedule(after: delay < .seconds(1) ? delay : delay * 20, body)
    }
}
