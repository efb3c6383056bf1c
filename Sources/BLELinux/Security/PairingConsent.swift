internal import BLEProtocol
internal import BLERadio

/// Sees to it that what the kernel asks in a pairing gets one answer, and no second one.
///
/// The kernel asks every program on the management socket. A no that follows a yes ends the pairing, and so does a
/// second yes, which sends the peer a DHKey check twice. So where bluetoothd asks us, as its agent, it is bluetoothd
/// that answers the kernel; where it doesn't, we do.
struct PairingConsent: Hashable, Sendable {
    /// What to do now.
    enum Step: Hashable, Sendable {
        /// Put a question to the program.
        case ask(PairingQuestion)
        /// Wait until bluetoothd has asked, but not for ever: ``patienceEnded()``.
        case wait
        /// Answer the kernel.
        case tellKernel(PairingQuestion.Answer)
        /// Answer bluetoothd.
        case tellAgent(PairingQuestion.Answer)
        /// End the pairing: there is nothing to answer.
        case giveUp
    }

    /// What is said where the only question is whether the pairing is wanted: whoever pairs has said so.
    var consent = PairingQuestion.Answer.accept
    /// Whether bluetoothd asks this program before it answers.
    private(set) var hasAgent = false
    /// Whether the kernel has asked.
    private(set) var wasAsked = false
    /// Whether this program has told the kernel.
    private(set) var hasAnswered = false
    /// Whether bluetoothd has asked.
    private(set) var hasAgentAsked = false
    /// What the program was asked; `nil` where the kernel only wanted to know whether to pair.
    private(set) var question: PairingQuestion?
    /// What was answered, or will be.
    private(set) var answer: PairingQuestion.Answer?
    private var isAgentWaiting = false
    private var isPatienceOver = false
    private var wasAgentTold = false

    /// Whether bluetoothd has asked, and been told yes.
    var hasAgentAgreed: Bool {
        if case .refuse = answer { false } else { wasAgentTold }
    }

    /// bluetoothd has taken this program for its agent.
    mutating func agentBegan() { hasAgent = true }

    /// bluetoothd asks no more, or has no use for an answer any more.
    mutating func agentEnded() -> [Step] {
        hasAgent = false
        isAgentWaiting = false
        return due()
    }

    /// bluetoothd asks. Where the kernel has its answer already, bluetoothd gets none: it would pass it on.
    ///
    /// - Parameter isConsent: Whether it asks only if the pairing is wanted.
    mutating func agentAsked(isConsent: Bool) -> [Step] {
        guard !hasAnswered, !wasAgentTold else { return [] }
        hasAgentAsked = true
        isAgentWaiting = true
        if isConsent, question == nil, answer == nil { answer = consent }
        return due()
    }

    /// The kernel asks.
    ///
    /// - Parameter question: `nil` where it asks only if the pairing is wanted: ``consent``.
    mutating func kernelAsked(_ question: PairingQuestion? = nil) -> [Step] {
        guard !wasAsked else { return [] }
        wasAsked = true
        self.question = question
        if question == nil, answer == nil { answer = consent }
        let steps = (question.map { [.ask($0)] } ?? []) + due()
        return hasAgent && !hasAgentAsked ? steps + [.wait] : steps
    }

    /// The kernel has something shown.
    mutating func kernelShows(_ passkey: PairingQuestion) -> [Step] {
        question = passkey
        return [.ask(passkey)]
    }

    /// The program has answered; what it says later doesn't count.
    mutating func answered(_ answer: PairingQuestion.Answer) -> [Step] {
        guard let question, self.answer == nil else { return [] }
        if case .display = question {
            guard case .refuse = answer else { return [] }
            self.answer = answer
            return [.giveUp]
        }
        self.answer = answer
        return due()
    }

    /// bluetoothd has had its time: it may have no part in this adapter.
    mutating func patienceEnded() -> [Step] {
        isPatienceOver = true
        return due()
    }

    private mutating func due() -> [Step] {
        guard let answer, !hasAnswered, !wasAgentTold else { return [] }
        if isAgentWaiting {
            wasAgentTold = true
            return [.tellAgent(answer)]
        }
        guard wasAsked, !hasAgent || isPatienceOver else { return [] }
        hasAnswered = true
        return [.tellKernel(answer)]
    }
}
