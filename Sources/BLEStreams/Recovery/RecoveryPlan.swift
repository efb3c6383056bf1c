/// What is done about an adapter that is on and doesn't do its work: deaf, or without an answer.
///
/// ```swift
/// let plan = RecoveryPlan(steps: [.restartScan, .powerCycle, .reset])
/// let central = try await Central.open(recovery: plan)
/// ```
///
/// The steps are taken one after the other, until one of them helps; then nothing more is done before the adapter has
/// been well for ``rest``. Steps that were taken shortly before count: one that only helps for minutes is not repeated for
/// ever.
public struct RecoveryPlan: Hashable, Sendable {
    /// Something that may cure an adapter.
    public enum Step: String, Hashable, Sendable, CaseIterable {
        /// Ends the scan and begins it again; links live on, and no stream notices. Of no use where the controller doesn't
        /// answer: it is passed over then.
        case restartScan
        /// Switches the adapter off and on, for all programs of the machine: every link ends with
        /// ``DisconnectReason/Kind/adapterOff``. Scans of this central go on. On Linux it takes `CAP_NET_ADMIN`.
        case powerCycle
        /// Resets the controller as if it was pulled out and plugged in, for all programs of the machine: every link ends, and
        /// the adapter is gone for some seconds. Scans of this central go on. On Linux it is for controllers that are USB
        /// devices, and takes the right to write to the device's file, see ``Central/reset(seen:)``; it has failed for others,
        /// which changes nothing.
        case reset
    }

    /// What to try, in order.
    public var steps: [Step]

    /// How long a scan may hear nothing, though it heard something before; and how long attempts to connect wait in vain before
    /// a scan is made beside them. The silence is noticed between this time and twice as much.
    public var silence: Duration

    /// Whether there is always somebody to be heard where the adapter is. Silence counts from the beginning of a scan then;
    /// else from the first advertisement on, since a scan that has heard nothing yet may be where nobody is.
    public var hearsAlways: Bool

    /// How long to wait after a step for the first advertisement.
    public var patience: Duration

    /// After how long without a symptom the steps that were taken are forgotten.
    public var rest: Duration

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - steps: what to try, in order; none: troubles are only told.
    ///   - silence: how long a scan may hear nothing; a minute unless said otherwise.
    ///   - patience: how long to wait after a step; 15 s unless said otherwise.
    ///   - rest: after how long without a symptom the steps are forgotten; ten minutes unless said otherwise.
    ///   - hearsAlways: whether silence counts from the beginning of a scan; it does not unless said otherwise.
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

    /// Troubles are told, and nothing is done about them.
    public static let none = RecoveryPlan(steps: [])
}
