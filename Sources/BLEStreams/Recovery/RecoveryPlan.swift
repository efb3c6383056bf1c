/// The steps against an adapter that is on but doesn't work: it receives nothing, or doesn't answer.
///
/// ```swift
/// let plan = RecoveryPlan(steps: [.restartScan, .powerCycle, .reset])
/// let central = try await Central.open(recovery: plan)
/// ```
///
/// The steps are taken one after the other until one helps. They are forgotten only when the adapter has worked for
/// ``rest``: steps taken shortly before still count, so a step that helps only for minutes is not repeated forever. No
/// further step is taken on an adapter that this program has switched off during a step, or that anybody has switched
/// off after it: it stays off.
///
/// While the adapter has links, a silent scan alone doesn't end them soon, whoever made them: this central, another
/// one, a central that is connected to this machine, or another program. Devices that are linked often don't advertise.
/// A step that ends links then waits until nothing was received for ten more times the ``silence``, or the links have
/// ended.
public struct RecoveryPlan: Hashable, Sendable {
    /// A step that may cure an adapter.
    public enum Step: String, Hashable, Sendable, CaseIterable {
        /// Restarts the scan; links stay up, and no stream notices. It is skipped if the controller doesn't answer, or
        /// the kernel keeps an attempt to connect, since it can't help then.
        case restartScan
        /// Switches the adapter off and on, for all programs of the machine: every link ends with
        /// ``DisconnectReason/Kind/adapterOff``. Scans of this central continue. On Linux it requires `CAP_NET_ADMIN`.
        case powerCycle
        /// Resets the controller as if it were unplugged and plugged in again, for all programs of the machine: every
        /// link ends, and the adapter is absent for some seconds. Scans of this central continue. On Linux it works for
        /// USB controllers, and requires permission to write to the device's file, see ``Central/reset(seen:)``; for
        /// other controllers the step fails without effect. Linux forgets what ``Central/setPrivacy(_:interrupting:)``
        /// has set: call that again.
        case reset
    }

    /// The steps to take, in order.
    public var steps: [Step]

    /// How long a scan may receive nothing after it has received something; and how long connection attempts wait in
    /// vain before the central adds a scan. The silence is noticed between this time and twice as much.
    public var silence: Duration

    /// Whether some device is always in range. If so, silence counts from the beginning of a scan; otherwise from the
    /// first advertisement, since a scan that has received nothing yet may have no device in range.
    public var hearsAlways: Bool

    /// How long to wait after a step for the first advertisement.
    public var patience: Duration

    /// The time without a symptom after which the steps taken are forgotten.
    public var rest: Duration

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - steps: the steps to take, in order; none: troubles are only reported.
    ///   - silence: how long a scan may receive nothing; a minute by default.
    ///   - patience: how long to wait after a step; 15 s by default.
    ///   - rest: the time without a symptom after which the steps are forgotten; ten minutes by default.
    ///   - hearsAlways: whether silence counts from the beginning of a scan; false by default.
    public init(
        steps: [Step] = [.restartScan],
        silence: Duration = .seconds(60),
        patience: Duration = .seconds(15),
        rest: Duration = .seconds(600),
        hearsAlways: Bool = false
    ) {
        precondition(silence > .zero && patience > .zero && rest >= .zero, "a plan needs time")
        self.steps = steps
        self.silence = silence
        self.patience = patience
        self.rest = rest
        self.hearsAlways = hearsAlways
    }

    /// Troubles are reported, but no step is taken.
    public static let none = RecoveryPlan(steps: [])
}
