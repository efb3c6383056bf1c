/// Messages in chunks, each by a command of one queue.
struct PlannedExchange: Sendable {
    enum Direction: String, Sendable, CaseIterable {
        case receives, sends
    }

    let peripheral: Int
    /// Whether the queue is a session's.
    let isInSession: Bool
    let wrappings: [Wrapping]
    let messages: [Direction]
    /// Which of them is cancelled, and after how long.
    let cancelled: (Int, Duration)?

    init(_ chance: inout Chance, _ peripheral: Int) {
        self.peripheral = peripheral
        isInSession = chance.onceIn(2)
        let wrappings = (0..<chance.below(4)).map { _ in chance.any(of: Wrapping.allCases) }
        // Without a link, nothing is sent.
        let place = chance.below(wrappings.count + 1)
        self.wrappings = isInSession ? wrappings : wrappings[..<place] + [.connecting] + wrappings[place...]
        messages = (0..<chance.within(1...4)).map { _ in chance.any(of: Direction.allCases) }
        cancelled = chance.onceIn(3) ? (chance.below(4), chance.seconds(0...20)) : nil
    }
}
