import Synchronization

/// Answers to the same question, told together once all are there.
final class JoinedAnswers<Answer: Sendable>: Sendable {
    private let answers: Mutex<[Answer?]>
    private let result: @Sendable ([Answer]) -> Void

    init(_ count: Int, _ result: @escaping @Sendable ([Answer]) -> Void) {
        answers = Mutex(Array(repeating: nil, count: count))
        self.result = result
    }

    /// Takes the answer of the one in this place, which comes once.
    func take(_ answer: Answer, _ place: Int) {
        let all: [Answer]? = answers.withLock { answers in
            answers[place] = answer
            let known = answers.compactMap { $0 }
            return known.count == answers.count ? known : nil
        }
        if let all { result(all) }
    }
}
