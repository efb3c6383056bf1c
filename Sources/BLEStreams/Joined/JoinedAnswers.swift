import Synchronization

/// Collects answers to the same question, and passes them on together once it has all of them.
final class JoinedAnswers<Answer: Sendable>: Sendable {
    private let answers: Mutex<[Answer?]>
    private let result: @Sendable ([Answer]) -> Void

    init(_ count: Int, _ result: @escaping @Sendable ([Answer]) -> Void) {
        answers = Mutex(Array(repeating: nil, count: count))
        self.result = result
    }

    /// Takes the answer for this position, which comes once.
    func take(_ answer: Answer, _ place: Int) {
        let all: [Answer]? = answers.withLock { answers in
            answers[place] = answer
            let known = answers.compactMap { $0 }
            return known.count == answers.count ? known : nil
        }
        if let all { result(all) }
    }
}
