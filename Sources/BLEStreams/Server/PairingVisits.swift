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

    private let answers: PairingAnswers?
    private let timeline: any Timeline
    private let visits: AsyncStream<Visit>
    private let bell: AsyncStream<Visit>.Continuation
    private let open = Mutex<[BluetoothAddress: Visit]>([:])
    /// Whether the radio reports each failed pairing.
    private let isReceiving = Mutex(false)

    init(_ answers: PairingAnswers?, on timeline: any Timeline) {
        self.answers = answers
        self.timeline = timeline
        (visits, bell) = AsyncStream.makeStream()
    }

    /// Whether pairings are answered.
    var areReceived: Bool {
        get { isReceiving.withLock { $0 } }
        set { isReceiving.withLock { $0 = newValue } }
    }

    /// The callbacks for the radio.
    var reception: PairingReception {
        guard let answers else { return .refused }
        return PairingReception(answers.capability, outOfBand: answers.outOfBand) { [self] central in
            let visit = Visit()
            let former = open.withLock { open in
                defer { open[central] = visit }
                return open[central]
            }
            former?.end.end()
            bell.yield(visit)
            return visit.questions.interview(answers.capability)
        }
    }

    /// A central's pairing has ended: its questions are withdrawn.
    func end(_ central: BluetoothAddress) {
        let visit = open.withLock { $0.removeValue(forKey: central) }
        visit?.end.end()
    }

    /// Answers until the task is cancelled.
    func receive() async {
        guard let answers else { return }
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
