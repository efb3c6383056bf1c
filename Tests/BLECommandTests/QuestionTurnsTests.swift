import BLESimulator
import Testing

@testable import BLEStreamsTests
@testable import ble

/// Questions to the one person at a terminal, such as about two centrals that pair at the same time.
@Suite(.timeLimit(.minutes(10))) struct QuestionTurnsTests {
    /// A person who thinks about each question for a second.
    private struct Person: Sendable {
        let time: VirtualTime
        let turns = QuestionTurns()
        let asked = Recorder<String>()
        let times = Recorder<Duration>()

        func answer(_ question: String) async -> String? {
            await turns.ask {
                asked.add(question)
                times.add(time.now)
                try? await time.sleep(for: .seconds(1))
                return question
            }
        }

        /// Withdraws the question after a while.
        func answer(_ question: String, within limit: Duration) async -> String? {
            await withTaskGroup(of: String?.self) { group in
                group.addTask { await answer(question) }
                try? await time.sleep(for: limit)
                group.cancelAll()
                return await group.next() ?? nil
            }
        }
    }

    @Test func `each waits until the one before it is answered, and one that is withdrawn is not asked`() async throws {
        try await VirtualTime.run { time in
            let person = Person(time: time)
            let answers = Recorder<String?>()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { answers.add(await person.answer("first")) }
                try? await time.sleep(for: .milliseconds(100))
                group.addTask { answers.add(await person.answer("second", within: .milliseconds(400))) }
                try? await time.sleep(for: .milliseconds(100))
                group.addTask { answers.add(await person.answer("third")) }
            }
            #expect(person.asked.all == ["first", "third"])
            #expect(person.times.all == [.zero, .seconds(1)])
            #expect(answers.all == [nil, "first", "third"])
        }
    }

    @Test func `one that is withdrawn while it is asked makes way for the next`() async throws {
        try await VirtualTime.run { time in
            let person = Person(time: time)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = await person.answer("first", within: .milliseconds(500)) }
                try? await time.sleep(for: .milliseconds(100))
                group.addTask { _ = await person.answer("second") }
            }
            #expect(person.asked.all == ["first", "second"])
            #expect(person.times.all == [.zero, .milliseconds(500)])
        }
    }
}
