import BLEStreams

/// Composes plays of queues at random; the same ones for the same seed.
struct QueueComposer {
    private var chance: Chance
    private var lastNumber = 0

    init(seed: UInt64) { chance = Chance(seed: seed) }

    mutating func play() -> ComposedQueuePlay {
        let source: ComposedQueuePlay.Source =
            switch chance.below(5) {
            case 0: .link
            case 1, 2: .session(pause: time(300_000))
            default: .peripheral
            }
        var connections = (0..<(2 + chance.below(4))).map { _ in connection() }
        if case .link = source {
            connections[0] = .init(after: 1, fails: false, lifetime: 500_000 + time(5_000_000))
        }
        // A session tries until it has one.
        connections.append(.init(after: time(100_000), fails: false, lifetime: time(2_000_000)))
        let handles = (0..<(1 + chance.below(3))).map { _ in decorations() }
        let commands = (0..<(1 + chance.below(8))).map { _ in command(handles.count) }
            .sorted { $0.begins < $1.begins }
        let isCancelled = if case .session = source { false } else { chance.below(4) == 0 }
        return ComposedQueuePlay(
            source: source,
            connections: connections,
            handles: handles,
            commands: commands,
            ends: 500_000 + time(5_000_000),
            isCancelled: isCancelled
        )
    }

    private mutating func time(_ bound: Int) -> Int { 1 + chance.below(bound) }

    private mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    private mutating func connection() -> ComposedQueuePlay.Connection {
        .init(
            after: time(chance.below(3) == 0 ? 1_000_000 : 100_000),
            fails: chance.below(5) == 0,
            lifetime: time(chance.below(2) == 0 ? 600_000 : 5_000_000)
        )
    }

    private mutating func decorations() -> [ComposedQueuePlay.Decoration] {
        var decorations: [ComposedQueuePlay.Decoration] = []
        if chance.below(4) > 0 {
            decorations.append(.connecting(within: time(1_500_000), then: linkAfterCommand()))
        }
        if chance.below(3) == 0 { decorations.append(authorizing()) }
        if chance.below(2) == 0 { decorations.append(.retrying(pause: time(300_000), attempts: chance.below(4))) }
        if chance.below(2) == 0 { decorations.append(.timingOut(time(1_500_000))) }
        if chance.below(4) == 0 { decorations.append(.around(before: time(50_000), after: time(50_000))) }
        if chance.below(6) == 0 { decorations.append(authorizing()) }
        return decorations.shuffled(using: &chance)
    }

    private mutating func linkAfterCommand() -> CommandQueue.LinkAfterCommand {
        switch chance.below(3) {
        case 0: .disconnect
        case 1: .stay
        default: .disconnectWhenIdle(.microseconds(time(400_000)))
        }
    }

    private mutating func authorizing() -> ComposedQueuePlay.Decoration {
        let exchange: ComposedWork =
            switch chance.below(5) {
            case 0: .group(number(), [write(), .failure(number(), isFinal: false, times: 1 + chance.below(3))])
            case 1: .retry(pause: time(50_000), attempts: 1 + chance.below(2), .group(number(), [write(), failure()]))
            case 2: .timeout(time(100_000), write())
            default: write()
            }
        return .authorizing(chance.below(2) == 0 ? .oncePerConnection : .beforeEachCommand, exchange)
    }

    private mutating func write() -> ComposedWork {
        .write(number(), answered: time(chance.below(4) == 0 ? 700_000 : 60_000))
    }

    private mutating func failure() -> ComposedWork {
        .failure(number(), isFinal: chance.below(5) == 0, times: 1 + chance.below(4))
    }

    private mutating func command(_ handles: Int) -> ComposedQueuePlay.Command {
        let begins = 10 + time(3_000_000)
        let way: ComposedQueuePlay.Command.Way =
            switch chance.below(5) {
            case 0, 1: .run
            case 2, 3: .enqueue
            default: .replacing
            }
        return .init(
            begins: begins,
            way: way,
            handle: chance.below(handles),
            work: work(depth: chance.below(4)),
            priority: chance.below(3),
            deadline: chance.below(4) == 0 ? time(2_000_000) : nil,
            isCancelled: chance.below(4) == 0 ? begins - 1000 + time(1_500_000) : 100_000_000
        )
    }

    private mutating func work(depth: Int) -> ComposedWork {
        guard depth > 0 else { return step() }
        switch chance.below(8) {
        case 0, 1: return .retry(pause: time(200_000), attempts: chance.below(4), work(depth: depth - 1))
        case 2, 3: return .timeout(time(800_000), work(depth: depth - 1))
        case 4: return .resuming(number(), pause: time(100_000), attempts: chance.below(3), work(depth: depth - 1))
        default: return .group(number(), (0...chance.below(3)).map { _ in work(depth: depth - 1) })
        }
    }

    private mutating func step() -> ComposedWork {
        switch chance.below(16) {
        case 0, 1, 2: return .pause(number(), for: time(500_000))
        case 3: return .stubborn(number(), for: time(400_000))
        case 4, 5: return failure()
        case 6: return .report(number())
        case 7: return .connect(within: time(1_000_000))
        case 8: return .disconnect
        case 9: return .reconnect(number(), pause: time(100_000), attempts: chance.below(3))
        default: return write()
        }
    }
}
