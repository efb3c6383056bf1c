import Testing

@testable import BLEStreams

/// Operators with a timer before a shared stream, one consumer of which is cancelled while it polls for all.
@Suite(.timeLimit(.minutes(10))) struct SharedTimersTests {
    enum Timed: CaseIterable {
        case timeout
        case presence
        case debounce

        /// The numbers of a stream, with a time that has passed as soon as it begins.
        func numbers(of stream: BLEStream<Int>) -> BLEStream<String> {
            switch self {
            case .timeout: stream.timeout(.zero).map { "\($0)" }
            case .presence: stream.presence(by: { $0 }, timeout: .zero).map { Self.text($0) }
            case .debounce: stream.debounce(for: .zero).map { "\($0)" }
            }
        }

        private static func text(_ event: Presence<Int, Int>) -> String {
            if case .leave = event { "left" } else { "\(event.value)" }
        }

        /// What a consumer sees until nothing more waits.
        var expected: [String] {
            switch self {
            case .timeout: ["1", "1", "#"]
            case .presence: ["1", "1", "left"]
            case .debounce: ["1"]
            }
        }
    }

    @Test(arguments: Timed.allCases)
    func `no time is over for the others while elements wait behind what a cancelled consumer has polled`(
        timed: Timed
    ) async throws {
        let source = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 0, 1])
            return {}
        }
        let shared = timed.numbers(of: source.filter { $0 == 1 }).share()
        let cancelled = Task { () async throws -> [String] in
            let (first, second) = (shared.open(Waker {}), shared.open(Waker {}))
            withUnsafeCurrentTask { $0?.cancel() }
            // The one is there, or is held; behind the zero, the filter gives up.
            _ = try first.poll()
            guard case .pending = try first.poll() else { return ["a time that is over"] }
            first.close()
            return await Task {
                var seen: [String] = []
                do {
                    while case .element(let text) = try second.poll() { seen.append(text) }
                } catch {
                    seen.append("#")
                }
                second.close()
                return seen
            }.value
        }
        #expect(try await cancelled.value == timed.expected)
    }
}
