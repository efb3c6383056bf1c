import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// The consumers of the messages to one central, one behind the other, and what is wrong with what they get.
struct MessageTurns: Sendable {
    private enum Event: Sendable {
        case message([UInt8])
        case gap
        case failed(BLEError)
        /// Chunks that nobody assembles.
        case chunks(Int)

        var failure: BLEError? { if case .failed(let error) = self { error } else { nil } }
    }

    private enum Turn { case counted, timed, patient, cancelled, retried, unassembled }

    private let world: MessagesInTurn
    private let member: MessagesInTurn.Member
    private var chance: Chance
    private var last: Int?
    /// What errors have handed out of the message that comes next.
    private var parts: [[UInt8]] = []
    private var isBehindGap = true
    /// Whether the next message may lack its beginning, which somebody knows.
    private var mayBeTorn = false
    private var count = 0

    init(_ world: MessagesInTurn, _ member: MessagesInTurn.Member, _ chance: Chance) {
        (self.world, self.member, self.chance) = (world, member, chance)
    }

    /// Whether messages came at all.
    func checkAny() {
        if count == 0, world.condition == .calm { world.found.add("no message came to \(member.number)") }
    }

    /// Takes some messages in one of several ways.
    ///
    /// - Parameter isKept: whether what a consumer leaves behind is kept for the next one.
    mutating func take(_ chunks: BLEStream<CharacteristicValue>, isKept: Bool) async throws {
        let pause = [0, 0, chance.below(50), chance.below(1000)][chance.below(4)]
        if pause > 0 { try await world.bench.time.sleep(for: .milliseconds(pause)) }
        if !isKept { try await begin() }
        // A break of the link with nothing before it is no gap in what begins then.
        if !isKept || world.condition == .lostLinks { isBehindGap = true }
        let turn = turn(isKept: isKept)
        let time = Duration.milliseconds(1 + chance.below(chance.below(2) == 0 ? 100 : 3000))
        let events = Recorder<Event>()
        if turn == .unassembled {
            let taken = try await chunks.prefix(for: time / 50).collect()
            if !taken.isEmpty { events.add(.chunks(taken.count)) }
        } else {
            try await record(chunks.assembled(until: world.mark), turn, time, in: events)
        }
        for event in events.all { check(event, turn) }
        // What it has given up is lost, and it knows that.
        if turn == .retried { isBehindGap = true }
        if !isKept, let failure = events.all.compactMap(\.failure).last, failure.code == .disconnected { throw failure }
    }

    private mutating func record(
        _ messages: BLEStream<[UInt8]>,
        _ turn: Turn,
        _ time: Duration,
        in events: Recorder<Event>
    ) async throws {
        let most = 1 + chance.below(6)
        let busy = chance.below(4) == 0 ? chance.below(200) : 0
        let stream = stream(messages, turn, time, most).withGaps()
        let limit = turn == .cancelled || turn == .retried ? time : .seconds(60)
        try await world.limit(to: limit) { [world] in
            do {
                var taken = 0
                for try await item in stream {
                    events.add(item.value.map(Event.message) ?? .gap)
                    taken += item.value == nil ? 0 : 1
                    if turn == .counted, taken == most { return }
                    if busy > 0 { try? await world.bench.time.sleep(for: .milliseconds(busy)) }
                }
            } catch let error as BLEError {
                events.add(.failed(error))
            } catch is CancellationError {}
        }
    }

    /// Who begins while the subscription of the one before is not confirmed yet joins that, perhaps in a message.
    private mutating func begin() async throws {
        parts = []
        if world.condition != .calm { try await world.bench.time.sleep(for: .seconds(1)) }
    }

    private mutating func turn(isKept: Bool) -> Turn {
        var turns: [Turn] = [.counted, .timed, .cancelled]
        if world.isFindable { turns += [.patient, .retried] }
        if isKept, world.isFindable { turns.append(.unassembled) }
        return turns[chance.below(turns.count)]
    }

    private func stream(
        _ messages: BLEStream<[UInt8]>,
        _ turn: Turn,
        _ time: Duration,
        _ most: Int
    ) -> BLEStream<[UInt8]> {
        switch turn {
        case .counted: messages.timeout(.seconds(30))
        case .timed: messages.prefix(for: time)
        case .patient: messages.timeout(time / 20)
        case .cancelled, .unassembled: messages
        case .retried: messages.timeout(time / 20).retry(.constant(time / 10)).prefix(most)
        }
    }

    private mutating func check(_ event: Event, _ turn: Turn) {
        switch event {
        case .gap: (parts, isBehindGap) = ([], true)
        case .chunks: (parts, isBehindGap, mayBeTorn) = ([], true, true)
        case .failed(let error):
            if let part = error.received { parts.append(part) }
            if error.code == .timedOut, turn == .counted, world.condition == .calm {
                world.found.add("\(member.number) waits: \(error)")
            }
            if error.code == .overflow { (parts, isBehindGap, mayBeTorn) = ([], true, true) }
            if error.code == .disconnected { (parts, isBehindGap) = ([], true) }
            let isExpected = error.code != .overflow || world.condition == .lostChunks
            if !isExpected || ![.timedOut, .overflow, .disconnected].contains(error.code) {
                world.found.add("\(member.number) \(turn): \(error)")
            }
        case .message(let message): check(message, turn)
        }
    }

    private mutating func check(_ message: [UInt8], _ turn: Turn) {
        let beginnings = (0...(isBehindGap ? parts.count : 0)).map { parts[$0...].flatMap { $0 } }
        // A mark that has begun in the part is read once more.
        let wholes = beginnings.flatMap { part in (0...min(2, part.count)).map { part.dropLast($0) + message } }
        guard let number = wholes.compactMap({ world.name(of: Array($0))?.number }).first else {
            if !mayBeTorn { found(message, "is not whole", turn) }
            (parts, isBehindGap) = ([], true)
            return
        }
        if let last {
            if number < last || number == last && !isBehindGap { found(message, "comes behind \(last)", turn) }
            if number > last + 1, !isBehindGap { found(message, "comes behind \(last), without a gap", turn) }
        }
        (last, parts, isBehindGap, mayBeTorn) = (number, [], false, false)
        count += 1
    }

    private func found(_ message: [UInt8], _ what: String, _ turn: Turn) {
        let text = String(decoding: message.prefix(40), as: UTF8.self)
        world.found.add("\(member.number) \(turn) at \(world.bench.time.now): \(text) \(what)")
    }
}
