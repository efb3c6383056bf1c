import BLEProtocol
import BLERadio
import Synchronization

/// Answers the pairings of centrals: each in a task of its own, which is cancelled when that pairing ends.
final class PairingVisits: Sendable {
    /// A central that is pairing.
    private struct Visit: Sendable {
        let questions = PairingMailbox()
        let end = Ending<Void>()
    }

    private struct State {
        /// The centrals that are pairing, by the addresses of their links.
        var open: [BluetoothAddress: Visit] = [:]
        /// How many receptions have ended: they open nothing any more.
        var ended = 0
        var answers: PairingAnswers?
    }

    private let timeline: any Timeline
    private let visits: AsyncStream<Visit>
    private let bell: AsyncStream<Visit>.Continuation
    private let state: Mutex<State>
    /// Whether the radio reports each failed pairing.
    private let isReceiving = Mutex(false)

    init(_ answers: PairingAnswers?, on timeline: any Timeline) {
        state = Mutex(State(answers: answers))
        self.timeline = timeline
        (visits, bell) = AsyncStream.makeStream()
    }

    /// Whether pairings are answered.
    var areReceived: Bool {
        get { isReceiving.withLock { $0 } }
        set { isReceiving.withLock { $0 = newValue } }
    }

    /// The callbacks for the radio, until ``endAll()``.
    var reception: PairingReception {
        let (answers, ended) = state.withLock { ($0.answers, $0.ended) }
        guard let answers else { return .refused }
        return PairingReception(answers.capability, outOfBand: answers.outOfBand) { [self] central in
            let visit = Visit()
            let (isOpen, former) = state.withLock { state -> (Bool, Visit?) in
                guard state.ended == ended else { return (false, nil) }
                defer { state.open[central] = visit }
                return (true, state.open[central])
            }
            former?.end.end()
            if isOpen { bell.yield(visit) }
            return visit.questions.interview(answers.capability)
        }
    }

    /// A central's pairing has ended: its questions are withdrawn.
    func end(_ central: BluetoothAddress) {
        let visit = state.withLock { $0.open.removeValue(forKey: central) }
        visit?.end.end()
    }

    /// The reception has ended, and tells of no pairing any more: all questions are withdrawn.
    func endAll() {
        let visits = state.withLock { state in
            state.ended += 1
            defer { state.open = [:] }
            return state.open.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
        }
        for visit in visits { visit.end.end() }
    }

    /// The peripheral has ended. Its answers may keep the server, as for the words of a question: kept any longer, each
    /// would keep the other for ever.
    func forgetAnswers() {
        let former = state.withLock { $0.answers.take() }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Answers until the task is cancelled.
    func receive() async {
        guard let answers = state.withLock({ $0.answers }) else { return }
        await withDiscardingTaskGroup { group in
            for await visit in visits {
                group.addTask { [timeline] in await Self.answer(visit, answers, timeline) }
            }
            group.cancelAll()
        }
    }

    private static func answer(_ visit: Visit, _ answers: PairingAnswers, _ timeline: any Timeline) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await answers.answer(visit.questions, on: timeline) }
            try? await visit.end.wait(on: timeline)
            group.cancelAll()
        }
    }
}
