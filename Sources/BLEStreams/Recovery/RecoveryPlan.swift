/// What is done about an adapter that is on and doesn't do its work: deaf, or without an answer.
///
/// ```swift
/// let plan = RecoveryPlan(steps: [.restartScan, .powerCycle, .powerCycle])
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
    }

    /// What to try, in order.
    public var steps: [Step]

    /// How long a scan may hear nothing, though it heard something before. The silence is noticed between this time and
    /// twice as much.
    public var silence: Duration

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
    public init(
        steps: [Step] = [.restartScan],
        silence: Duration = .seconds(60),
        patience: Duration = .seconds(15),
        rest: Duration = .seconds(600)
    ) {
        precondition(silence > .zero && patience > .zero && rest >= .zero, "a plan needs time")
        self.steps = steps
        self.silence = silence
        self.patience = patience
        self.rest = rest
    }

    /// Troubles are told, and nothing is done about them.
    public static let none = RecoveryPlan(steps: [])
}
