/// Sees to it that the kernel's question whether to pair gets one yes, and no second answer.
///
/// The kernel asks every program on the management socket. A no that follows a yes ends the pairing, and so does a second
/// yes, which sends the peer a DHKey check twice. So where bluetoothd asks us, as its agent, it is bluetoothd that answers
/// the kernel; where it doesn't, we do.
struct PairingConsent: Hashable, Sendable {
    /// What to do now.
    enum Step: Hashable, Sendable {
        /// Answer the kernel: yes.
        case agree
        /// Wait until bluetoothd has asked, but not for ever: ``patienceEnded()``.
        case wait
    }

    /// Whether bluetoothd asks this program before it answers.
    private(set) var hasAgent = false
    /// Whether the kernel has asked.
    private(set) var wasAsked = false
    /// Whether this program has told the kernel yes.
    private(set) var hasAnswered = false
    /// Whether bluetoothd has asked, and been told yes.
    private(set) var hasAgentAgreed = false

    /// bluetoothd has taken this program for its agent.
    mutating func agentBegan() { hasAgent = true }

    /// bluetoothd asks no more.
    mutating func agentEnded() -> Step? {
        hasAgent = false
        return answerMissing()
    }

    /// bluetoothd has asked, and was told yes.
    mutating func agentAgreed() { hasAgentAgreed = true }

    /// The kernel asks.
    mutating func kernelAsked() -> Step? {
        wasAsked = true
        return hasAgent && !hasAgentAgreed ? .wait : answerMissing()
    }

    /// bluetoothd has had its time: it may have no part in this adapter.
    mutating func patienceEnded() -> Step? { answerMissing() }

    private mutating func answerMissing() -> Step? {
        guard wasAsked, !hasAnswered, !hasAgentAgreed else { return nil }
        hasAnswered = true
        return .agree
    }
}
