import Synchronization

/// Asks a person one question after the other: of two that wait for the same input, either could get the line that
/// answers the other one, and so a central could be trusted for the number of another.
final class QuestionTurns: Sendable {
    private struct State {
        var isTaken = false
        /// Who waits for a turn, in order.
        var waiting: [(number: Int, turn: CheckedContinuation<Bool, Never>)] = []
        /// Who was cancelled before it could wait.
        var cancelled: Set<Int> = []
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// Asks as soon as no other question waits for its answer; `nil` if the task is cancelled before.
    func ask<Answer: Sendable>(_ question: () async -> Answer) async -> Answer? {
        guard await take() else { return nil }
        defer { pass() }
        guard !Task.isCancelled else { return nil }
        return await question()
    }

    /// Waits for a turn; `false` if the task is cancelled before.
    private func take() async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let hasTurn = await withTaskCancellationHandler {
            await withCheckedContinuation { (turn: CheckedContinuation<Bool, Never>) in wait(number, turn) }
        } onCancel: {
            cancel(number)
        }
        // It may have been cancelled when it had its turn already.
        state.withLock { _ = $0.cancelled.remove(number) }
        return hasTurn
    }

    private func wait(_ number: Int, _ turn: CheckedContinuation<Bool, Never>) {
        let outcome = state.withLock { state -> Bool? in
            if state.cancelled.contains(number) { return false }
            if state.isTaken {
                state.waiting.append((number, turn))
                return nil
            }
            state.isTaken = true
            return true
        }
        if let outcome { turn.resume(returning: outcome) }
    }

    private func cancel(_ number: Int) {
        let turn = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                state.cancelled.insert(number)
                return nil
            }
            return state.waiting.remove(at: place).turn
        }
        turn?.resume(returning: false)
    }

    /// The next one has its turn.
    private func pass() {
        let turn = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst().turn
        }
        turn?.resume(returning: true)
    }
}
