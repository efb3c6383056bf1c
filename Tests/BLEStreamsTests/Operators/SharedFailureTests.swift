import Testing

@testable import BLEStreams

/// The error of one of several streams, where another one of them shares its source with other consumers.
@Suite(.timeLimit(.minutes(10))) struct SharedFailureTests {
    enum Combination: CaseIterable {
        case merge
        case flatMap
        case combineLatest
        case takeUntil

        /// The numbers of a stream, until another one fails.
        func numbers(of stream: BLEStream<Int>, until failing: BLEStream<Int>) -> BLEStream<Int> {
            switch self {
            case .merge: stream.merge(with: failing)
            case .flatMap: BLEStream([true, false]).flatMap(merging: 2) { $0 ? stream : failing }
            case .combineLatest: stream.combineLatest(with: BLEStream([0]).merge(with: failing)).map { $0.0 }
            case .takeUntil: stream.take(until: failing)
            }
        }
    }

    /// Takes all that is there; returns the answer behind it.
    private static func drain(_ cursor: Cursor<Int>?, _ seen: Recorder<Int>) throws -> Polled<Int>? {
        var polled = try cursor?.poll()
        while let number = polled?.element {
            seen.add(number)
            polled = try cursor?.poll()
        }
        return polled
    }

    @Test(arguments: Combination.allCases)
    func `the error comes behind what another consumer is about to hand out`(combination: Combination) throws {
        let (feeds, failing) = (Recorder<BLEStream<Int>.Feed>(), Recorder<BLEStream<Int>.Feed>())
        let seen = Recorder<Int>()
        // Used by the closure, which is called on this thread.
        nonisolated(unsafe) var combined: Cursor<Int>?
        // The failure is noticed while the first element passes: the other consumer has the upstream then.
        let shared = ShareTests.fed(feeds).onEach { number in
            guard number == 1 else { return }
            failing.all.first?.finish(throwing: Stage.failure)
            do {
                let polled = try Self.drain(combined, seen)
                #expect(polled?.isPending == true)
            } catch {
                Issue.record("it didn't wait for what has come: \(error)")
            }
        }.share()
        let first = shared.open(Waker {})
        combined = combination.numbers(of: shared, until: ShareTests.fed(failing)).open(Waker {})
        #expect(try first.poll().isPending)
        #expect(try Self.drain(combined, seen)?.isPending == true)
        feeds.all.first?.send(contentsOf: [1, 2])
        #expect(try first.poll().element == 1)
        #expect(throws: BLEError.self) { _ = try Self.drain(combined, seen) }
        #expect(seen.all == [1, 2])
        first.close()
        combined?.close()
        // The closure that it has uses it.
        combined = nil
    }

    /// The numbers are those of one stream, or of one that is itself shared with somebody else.
    @Test(arguments: Combination.allCases, [false, true])
    func `a consumer that is cancelled while it polls for all leaves them what comes before the error`(
        combination: Combination,
        hasOthers: Bool
    ) async throws {
        let (feeds, failing) = (Recorder<BLEStream<Int>.Feed>(), Recorder<BLEStream<Int>.Feed>())
        let filtered = ShareTests.fed(feeds).filter { $0 == 1 }
        let ones = hasOthers ? filtered.share() : filtered
        let shared = combination.numbers(of: ones, until: ShareTests.fed(failing)).share()
        let cancelled = Task { () async throws -> [String] in
            let other = hasOthers ? ones.open(Waker {}) : nil
            let (first, second) = (shared.open(Waker {}), shared.open(Waker {}))
            guard case .pending = try first.poll() else { return ["an element before any came"] }
            feeds.all.first?.send(contentsOf: [0, 1])
            failing.all.first?.finish(throwing: Stage.failure)
            withUnsafeCurrentTask { $0?.cancel() }
            // The filter gives up behind the zero.
            _ = try first.poll()
            first.close()
            let seen = await Task {
                var seen: [String] = []
                do {
                    while case .element(let number) = try second.poll() { seen.append("\(number)") }
                } catch {
                    seen.append("#")
                }
                second.close()
                return seen
            }.value
            other?.close()
            return seen
        }
        #expect(try await cancelled.value == ["1", "#"])
    }
}
