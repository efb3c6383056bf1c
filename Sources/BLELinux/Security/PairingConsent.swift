internal import BLEProtocol
internal import BLERadio

/// Ensures that each question of the kernel in a pairing gets exactly one answer.
///
/// The kernel asks every program on the management socket. A refusal after an acceptance ends the pairing, and so does
/// a second acceptance, which sends the peer a DHKey check twice. So if bluetoothd asks us, as its agent, bluetoothd
/// answers the kernel; if it doesn't, we do.
struct PairingConsent: Hashable, Sendable {
    /// What to do now.
    enum Step: Hashable, Sendable {
        /// Ask the program.
        case ask(PairingQuestion)
        /// Wait for bluetoothd's question, for a limited time: ``patienceEnded()``.
        case wait
        /// Answer the kernel.
        case tellKernel(PairingQuestion.Answer)
        /// Answer bluetoothd.
        case tellAgent(PairingQuestion.Answer)
        /// End the pairing: there is nothing to answer.
        case giveUp
    }

    /// The answer if the only question is whether to pair: a program that pairs has consented.
    var consent = PairingQuestion.Answer.accept
    /// Whether bluetoothd asks this program before it answers.
    private(set) var hasAgent = false
    /// Whether the kernel has asked.
    private(set) var wasAsked = false
    /// Whether this program has told the kernel.
    private(set) var hasAnswered = false
    /// Whether bluetoothd has asked.
    private(set) var hasAgentAsked = false
    /// The question to the program; `nil` if the kernel only asked whether to pair.
    private(set) var question: PairingQuestion?
    /// The answer that was given, or will be.
    private(set) var answer: PairingQuestion.Answer?
    private var isAgentWaiting = false
    private var isPatienceOver = false
    private var wasAgentTold = false

    /// Whether bluetoothd has asked, and got an acceptance.
    var hasAgentAgreed: Bool {
        if case .refuse = answer { false } else { wasAgentTold }
    }

    /// bluetoothd has accepted this program as its agent.
    mutating func agentBegan() { hasAgent = true }

    /// bluetoothd asks no more, or no longer needs an answer.
    mutating func agentEnded() -> [Step] {
        hasAgent = false
        isAgentWaiting = false
        return due()
    }

    /// bluetoothd asks. If the kernel already has its answer, bluetoothd gets none: it would pass it on.
    ///
    /// - Parameter isConsent: whether it only asks whether to pair.
    mutating func agentAsked(isConsent: Bool) -> [Step] {
        guard !hasAnswered, !wasAgentTold else { return [] }
        hasAgentAsked = true
        isAgentWaiting = true
        if isConsent, question == nil, answer == nil { answer = consent }
        return due()
    }

    /// The kernel asks.
    ///
    /// - Parameter question: `nil` if it only asks whether to pair: ``consent``.
    mutating func kernelAsked(_ question: PairingQuestion? = nil) -> [Step] {
        guard !wasAsked else { return [] }
        wasAsked = true
        self.question = question
        if question == nil, answer == nil { answer = consent }
        let steps = (question.map { [.ask($0)] } ?? []) + due()
        return hasAgent && !hasAgentAsked ? steps + [.wait] : steps
    }

    /// The kernel requests that a passkey is shown.
    mutating func kernelShows(_ passkey: PairingQuestion) -> [Step] {
        question = passkey
        return [.ask(passkey)]
    }

    /// The program has answered; later answers don't count.
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

    /// The time for the program's answer is over: none came, or it came too late.
    mutating func expired() {
        if question?.needsAnswer == true { answer = .refuse(.unanswered) }
    }

    /// bluetoothd's time is over: it may not manage this adapter.
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
