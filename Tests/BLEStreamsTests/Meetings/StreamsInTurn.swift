import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Consumers of a few characteristics that leave at random, and begin again at once: each stream is without a hole, or
/// tells a gap; each gets its values; and the peripheral is told to send no more often than is needed.
final class StreamsInTurn: Sendable {
    enum Ground: CaseIterable, Sendable { case link, session }

    enum Condition: CaseIterable, Sendable {
        case calm, lateAnswers, lostLinks
        /// The peripheral refuses to send indications alone, also instead of both.
        case refusals
    }

    /// What a consumer takes.
    private struct Turn: Sendable {
        var characteristic: BluetoothUUID
        var indications = false
        /// Whether it begins with the value that is read.
        var isRead = false
        var count: Int
        /// How long it stays if it doesn't leave with a count.
        var time: Duration?

        init(_ chance: inout Chance) {
            characteristic = [single, single, other, both, both][chance.below(5)]
            let isOdd = chance.below(2) == 0
            if characteristic == both { indications = isOdd } else { isRead = isOdd }
            count = chance.below(3) == 0 ? 1 : 1 + chance.below(100)
            if chance.below(3) == 0 { time = .milliseconds(1 + chance.below(chance.below(2) == 0 ? 60 : 2000)) }
        }
    }

    private static let single = BluetoothUUID(0xE001)
    private static let other = BluetoothUUID(0xE002)
    private static let both = BluetoothUUID(0xE003)
    private static let indicated: UInt32 = 1 << 31

    static let description = LocalPeripheral(name: "Both") {
        LocalService(BluetoothUUID(0xE000)) {
            LocalCharacteristic(single, [.read, .notify], value: .stored(UInt32(0).octets))
            LocalCharacteristic(other, [.read, .notify], value: .stored(UInt32(0).octets))
            LocalCharacteristic(both, [.notify, .indicate])
        }
    }

    /// About how many milliseconds are between two values.
    private static func pace(of seed: UInt64) -> Int { [1, 4, 10, 40][Int(seed % 4)] }

    private let bench: Bench
    private let pace: Int
    private let ground: Ground
    private let condition: Condition
    private let begun = Mutex(0)
    private let found = Recorder<String>()

    private init(_ seed: UInt64, _ bench: Bench, _ ground: Ground, _ condition: Condition) {
        (self.bench, pace, self.ground, self.condition) = (bench, Self.pace(of: seed), ground, condition)
    }

    /// What is wrong in the world of a seed.
    static func run(seed: UInt64, _ ground: Ground, _ condition: Condition) async throws -> [String] {
        let found = Mutex<[String]>([])
        try await Bench.run(seed: seed, description: description) {
            try await serve(seed, $0, $1)
        } _: { bench in
            bench.air.traceCapacity = 100_000
            let world = StreamsInTurn(seed, bench, ground, condition)
            try await world.run(seed)
            found.withLock { $0 = world.found.all }
        }
        return found.withLock { $0 }
    }

    /// Sends numbers, ever greater, several in each connection interval or one in several; each is stored before.
    private static func serve(_ seed: UInt64, _ server: PeripheralServer, _ bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let pace = pace(of: seed)
            for (index, characteristic) in [single, other, both].enumerated() {
                group.addTask {
                    var chance = Chance(seed: seed &+ UInt64(index) << 32)
                    for number: UInt32 in 1... {
                        if characteristic != both { try server.setValue(number.octets, of: characteristic) }
                        try await server.notify(number.octets, of: characteristic)
                        try await bench.time.sleep(for: .milliseconds(1 + chance.below(2 * pace)))
                    }
                }
            }
            group.addTask {
                for number in indicated... {
                    // A link that is lost meanwhile doesn't confirm it.
                    _ = try? await server.indicate(number.octets, of: both)
                    try await bench.time.sleep(for: .milliseconds(5 * pace))
                }
            }
            try await group.waitForAll()
        }
    }

    private func run(_ seed: UInt64) async throws {
        switch condition {
        case .calm: break
        case .lateAnswers:
            bench.air.faults.add(.delay(.writeResponses, by: .milliseconds(10 + Int(seed % 40) * 50)))
            if ground == .session { bench.air.faults.add(.delay(.readResponses, by: .milliseconds(300))) }
        case .lostLinks: bench.air.faults.add(.loseLinks(every: .seconds(2 + Int(seed % 8))))
        case .refusals:
            let indicationsAlone = PDUFilter.where { $0.count == 5 && $0[0] == 0x12 && $0[3] == 2 }
            bench.air.faults.add(.replace(indicationsAlone.sent(by: .central), with: [0x12, 0, 0, 2, 0]))
        }
        switch ground {
        case .link:
            while bench.time.now < Self.length {
                try? await bench.peripheral.withLink { link in
                    try await self.takeTurns(seed) { turn in
                        turn.isRead
                            ? link.values(of: turn.characteristic)
                            : link.notifications(of: turn.characteristic, indications: turn.indications)
                    }
                    try await self.checkQuiet()
                }
            }
            checkWrites()
        case .session:
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                async let reads: Void = self.read(session)
                try await self.takeTurns(seed) { turn in
                    turn.isRead
                        ? session.values(of: turn.characteristic)
                        : session.notifications(of: turn.characteristic, indications: turn.indications)
                }
                try await reads
                bench.air.faults.removeAll()
                try await self.checkQuiet()
            }
        }
    }

    private static let length = Duration.seconds(4)

    /// Has the session's turn again and again: what is to be ended waits for it.
    private func read(_ session: Session) async throws {
        while bench.time.now < Self.length {
            _ = try? await session.read(Self.single)
            try await bench.time.sleep(for: .milliseconds(100))
        }
    }

    private func takeTurns(
        _ seed: UInt64,
        _ stream: @escaping @Sendable (Turn) -> BLEStream<CharacteristicValue>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 as Range<UInt64> {
                group.addTask { [self] in
                    var chance = Chance(seed: seed &* 8 &+ worker)
                    while bench.time.now < Self.length {
                        let pause = [0, 0, chance.below(40), chance.below(500)][chance.below(4)]
                        if pause > 0 { try await bench.time.sleep(for: .milliseconds(pause)) }
                        let turn = Turn(&chance)
                        begun.withLock { $0 += 1 }
                        do {
                            try await take(turn, stream(turn))
                        } catch let error as BLEError {
                            if error.code == .timedOut { found.add("\(turn) waits: \(error)") }
                            if error.code == .disconnected { throw error }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func take(_ turn: Turn, _ stream: BLEStream<CharacteristicValue>) async throws {
        var last: UInt32?
        var (count, isBehindGap) = (0, false)
        // What is read may overtake what waits for room.
        let mayReturn = turn.isRead && pace < 10
        // Notifications overtake the answers that are held back.
        let mayLack = turn.isRead && ground == .session && condition == .lateAnswers
        let items = stream.withGaps()
        let limited = turn.time.map { items.prefix(for: $0) } ?? items.timeout(.seconds(600), for: .wholeStream)
        for try await item in limited {
            guard let value = item.value else {
                isBehindGap = true
                continue
            }
            let number = UInt32(octets: value)
            // One that has subscribed to both gets both.
            if (number >= Self.indicated) != turn.indications { continue }
            if let last {
                let isHole = number > last + 1 && !isBehindGap && !mayLack
                let isEarlier = (isBehindGap ? number < last : number <= last) && !mayReturn
                if isHole || isEarlier { found.add("\(turn) has \(number) behind \(last) at \(bench.time.now)") }
            }
            (last, isBehindGap) = (number, false)
            count += 1
            if turn.time == nil, count >= turn.count { return }
        }
    }

    /// Nothing is sent any more where nobody wants it.
    private func checkQuiet() async throws {
        guard condition == .calm || condition == .lateAnswers else { return }
        try await bench.time.sleep(for: .seconds(condition == .calm ? 5 : 10))
        let now = bench.time.now
        try await bench.time.sleep(for: .seconds(1))
        let values = bench.air.trace.count { $0.time > now && $0.sender == .peripheral && $0.pdu?.first == 0x1B }
        if values > 0 { found.add("\(values) values come, though nobody wants them") }
    }

    /// A stream is switched on and off once.
    private func checkWrites() {
        let (writes, streams) = (bench.writes.count, begun.withLock { $0 })
        if writes > 2 * streams { found.add("\(streams) streams were subscribed to by \(writes) writes") }
    }
}
