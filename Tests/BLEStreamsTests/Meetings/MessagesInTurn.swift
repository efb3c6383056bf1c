import BLESimulator
import BLEStreams
import Synchronization

/// Messages between a peripheral and several centrals, taken by consumers that leave at random and begin again: each is
/// whole, in order, none comes twice that was sent once, and none is missing without a gap or an error.
final class MessagesInTurn: Sendable {
    enum Condition: CaseIterable, Sendable { case calm, lateAnswers, lostLinks, lostChunks }

    /// What differs from one central to the other.
    struct Member: Sendable {
        var number: Int
        var central: Central
        var peripheral: Peripheral
    }

    static let outbound = MessageBench.outbound
    static let inbound = MessageBench.inbound
    static let length = Duration.seconds(5)
    private static let marks: [EndMark] = [
        .endOfMessage("EOM"), .endOfMessage(atEndOfChunk: "EOM"), .delimiter("\n"), .lengthPrefix(octets: 2),
    ]

    private static let description = LocalPeripheral(name: "Messages") {
        LocalService(MessageBench.service) {
            LocalCharacteristic(outbound, [.notify, .indicate])
            LocalCharacteristic(inbound, [.write, .writeWithoutResponse], value: .dynamic)
        }
    }

    let seed: UInt64
    let bench: Bench
    let condition: Condition
    let mark: EndMark
    private let kind: Int
    let found = Recorder<String>()
    /// For each central, the number of the message to send next, and how often it has subscribed or unsubscribed.
    let deliveries = Mutex(Delivery())
    let sent = Mutex<[BluetoothAddress: (number: Int, subscription: Int)]>([:])

    /// Whether the end of a message that is not known from its beginning can be found.
    var isFindable: Bool { kind < 3 }

    private init(_ seed: UInt64, _ bench: Bench, _ condition: Condition) {
        (self.seed, self.bench, self.condition) = (seed, bench, condition)
        // Behind a hole, nobody knows where the next length is.
        kind = Int(seed % (condition == .lostChunks ? 3 : 4))
        mark = Self.marks[kind]
    }

    /// What is wrong in the world of a seed.
    ///
    /// - Parameters:
    ///   - serve: what the peripheral does.
    ///   - body: what each central does.
    static func run(
        seed: UInt64,
        _ condition: Condition,
        serve: @escaping @Sendable (MessagesInTurn, PeripheralServer) async throws -> Void,
        _ body: @escaping @Sendable (MessagesInTurn, Member) async throws -> Void
    ) async throws -> [String] {
        var chance = Chance(seed: seed)
        var settings = AdapterSettings()
        settings.sendBufferSize = [500, 2000, settings.sendBufferSize][chance.below(3)]
        let (settled, count, result) = (settings, 1 + chance.below(3), Recorder<[String]>())
        let worlds = Recorder<MessagesInTurn>()
        try await Bench.run(seed: seed, description: description, centrals: count, settings: settled) { server, bench in
            let world = MessagesInTurn(seed, bench, condition)
            worlds.add(world)
            try await serve(world, server)
        } _: { bench in
            try await bench.time.sleep(for: .milliseconds(1))
            let world = worlds.all[0]
            world.addFaults()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    let member = try await world.member(number)
                    group.addTask { try await body(world, member) }
                }
                try await group.waitForAll()
            }
            result.add(world.found.all)
        }
        return result.all.flatMap { $0 }
    }

    private func member(_ number: Int) async throws -> Member {
        var chance = Chance(seed: seed &* 16 &+ UInt64(number))
        let mtu = [23, 40, 185, 517][chance.below(4)]
        var settings = AdapterSettings(linkTiming: .fast, maximumPDUSize: mtu)
        if chance.below(2) == 0 { settings.sendBufferSize = 600 }
        let central = try await Central.open(.radio(bench.air.adapter(settings: settings)))
        let peripheral = central.peripheral(bench.peripheralAdapter.address)
        return Member(number: number, central: central, peripheral: peripheral)
    }

    private func addFaults() {
        let faults = bench.air.faults
        switch condition {
        case .calm: break
        case .lateAnswers:
            faults.add(.delay(.writeResponses, by: .milliseconds(10 + Int(seed % 40) * 20)))
            faults.add(.delay(.opcode(0x1E), by: .milliseconds(100)))
        case .lostLinks: faults.add(.loseLinks(every: .seconds(1 + Int(seed % 6))))
        case .lostChunks:
            let gaps = 10 + Int(seed % 30)
            for count in 1...6 { faults.add(.overflow(.notifications).skipping(gaps * count).times(1)) }
            for count in 1...3 { faults.add(.overflow(.opcode(0x52)).skipping(gaps * count).times(1)) }
        }
    }

    /// The message of a sender with this number; no part of it looks like a mark.
    func message(_ number: Int, of sender: Int) -> [UInt8] {
        var chance = Chance(seed: seed &* 1000 &+ UInt64(number * 8 + sender))
        let size = [0, chance.below(10), chance.below(200), chance.below(2000)][chance.below(4)]
        let letters = (0..<size).map { _ in UInt8(97 + chance.below(26)) }
        return Array("\(sender):\(number):".utf8) + letters
    }

    /// The sender and the number of a message; `nil` if it is not whole.
    func name(of message: [UInt8]) -> (sender: Int, number: Int)? {
        let parts = String(decoding: message, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let sender = Int(parts[0]), let number = Int(parts[1]) else { return nil }
        return self.message(number, of: sender) == message ? (sender, number) : nil
    }

    /// The chunks of a message, cut by a program of its own.
    func chunks(_ message: [UInt8], atMost size: Int) -> [[UInt8]] {
        var rest = message
        let tail: [UInt8]
        switch kind {
        case 0: tail = []
        case 1: tail = Array("EOM".utf8)
        case 2: tail = Array("\n".utf8)
        default: (rest, tail) = ([UInt8(message.count & 255), UInt8(message.count >> 8)] + message, [])
        }
        rest += tail
        var chunks = stride(from: 0, to: rest.count, by: size).map { Array(rest[$0..<min($0 + size, rest.count)]) }
        if kind == 0 { chunks.append(Array("EOM".utf8)) }
        return chunks
    }

    /// Does something until it ends or a time is over.
    func limit(to time: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { [bench] in try await bench.time.sleep(for: time) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
