import BLEStreams

/// How the consumer of a stream behaves.
struct Manner: Sendable, CustomStringConvertible {
    /// How long it takes for each value.
    let pace: Duration
    /// After how many values it leaves.
    let count: Int
    /// After how long it is cancelled.
    let patience: Duration

    init(_ chance: inout Chance) {
        pace = chance.any(of: [.zero, .zero, .milliseconds(50), .seconds(1), .seconds(6)])
        count = chance.any(of: [1, 3, 10, 60, .max])
        patience = chance.seconds(0...120)
    }

    var description: String {
        "\(count == .max ? "all" : "\(count)") values, \(pace) for each, cancelled after \(patience)"
    }
}

/// One thing that a program does with a link.
enum LinkAction: String, Sendable, CaseIterable {
    case read, write, writeCommand, readLong, writeLong, readSecret, discover, readTogether, pause, name
    case readAll, pair, unpair, forgetServices, signal
}

/// An operator of a chain.
enum ChainLink: String, Sendable, CaseIterable {
    case map, filter, buffered, share, timeout, throttle, debounce, prefix, distinct, dropFirst, onEach, compactMap
    case merge, flatMap, reductions, batched, combineLatest, takeUntil
    case replay, retryAgain, dropWhile, takeWhile, newest, zip
}

/// A wrapping of a queue.
enum Wrapping: String, Sendable, CaseIterable {
    case retrying, timingOut, authorizing, connecting
}

/// What a program orders a session to do, beside its work.
enum SessionOrder: String, Sendable, CaseIterable {
    case disconnect, connect, search, reset, rest
}

/// A session of a program.
struct PlannedSession: Sendable {
    let peripheral: Int
    /// Whether it looks for the peripheral by its name.
    let finds: Bool
    /// Whether later lives of the program restore it.
    let isKept: Bool
    let actions: [LinkAction]
    /// The wrappings of its queue, the innermost first.
    let wrappings: [Wrapping]
    let orders: [SessionOrder]
    let channel: NumberedValue.Channel
    let buffer: BufferPolicy
    let manner: Manner
}

/// What a program does next.
enum PlannedStep: Sendable {
    case use(Int, [LinkAction], timeout: Duration)
    /// A stream over links, tried again when one is lost, with a chain within each link and one around all.
    case follow(Int, NumberedValue.Channel, within: [ChainLink], [ChainLink], BufferPolicy, Manner)
    /// A stream over links that several consumers share, who come one after the other.
    case share(Int, [Manner], BufferPolicy)
    case session(PlannedSession)
    case fleet([Int], [Wrapping], Manner)
    case queue(Int, [Wrapping], [LinkAction], cancelled: Int?)
    case flows(Int, [PlannedFlow], pause: Duration, isRetried: Bool)
    /// Values of a type, over links.
    case typed(Int, Manner)
    case scan(Manner)
    /// Who is near, by a scan.
    case presence(Manner)
    /// The states of a connection and of the adapter.
    case observes(Int, Manner)
    /// A line over the serial service, which the peripheral gives back.
    case serial(Int)
    /// The sessions that an earlier life of the program has kept.
    case restored([Int])
    case receivesMessage(Int)
    case sendsMessage(Int)
    case exchange(PlannedExchange)
    /// Is a peripheral, by the adapter with which the central connects.
    case serves(lasting: Duration)
    /// Uses what another central serves.
    case visits(Int, Manner)
    case rests(Duration)

    init(_ chance: inout Chance, peripherals: Int, host: Int) {
        let peripheral = chance.below(peripherals)
        let channel: NumberedValue.Channel = chance.onceIn(4) ? .indicated : .notified
        let buffer: BufferPolicy = chance.any(of: [.standard, .unbounded, .newest(3), .oldest(5), .fail(40)])
        let actions = (0..<chance.within(1...6)).map { _ in chance.any(of: LinkAction.allCases) }
        switch chance.below(26) {
        case 0...3: self = .use(peripheral, actions, timeout: chance.seconds(1...40))
        case 4...6:
            let chain = (0..<chance.below(4)).map { _ in chance.any(of: ChainLink.allCases) }
            let within = (0..<chance.any(of: [0, 0, 1, 2])).map { _ in chance.any(of: ChainLink.allCases) }
            self = .follow(peripheral, channel, within: within, chain, buffer, Manner(&chance))
        case 7...9:
            let orders = (0..<chance.any(of: [0, 0, 1, 3, 6])).map { _ in chance.any(of: SessionOrder.allCases) }
            self = .session(
                PlannedSession(
                    peripheral: peripheral,
                    finds: chance.onceIn(3),
                    isKept: chance.onceIn(2),
                    actions: actions,
                    wrappings: (0..<chance.below(4)).map { _ in chance.any(of: Wrapping.allCases) },
                    orders: orders,
                    channel: channel,
                    buffer: buffer,
                    manner: Manner(&chance)
                )
            )
        case 10:
            let wrappings = (0..<chance.below(3)).map { _ in chance.any(of: Wrapping.allCases) }
            let peripherals = Set((0..<4).map { _ in chance.below(peripherals) })
            self = .fleet(peripherals.sorted(), wrappings, Manner(&chance))
        case 11, 12:
            let wrappings = (0..<chance.within(1...4)).map { _ in chance.any(of: Wrapping.allCases) }
            self = .queue(peripheral, wrappings, actions, cancelled: chance.onceIn(3) ? chance.below(4) : nil)
        case 13: self = .scan(Manner(&chance))
        case 14: self = chance.onceIn(2) ? .receivesMessage(peripheral) : .sendsMessage(peripheral)
        case 15, 16:
            let flows = (0..<chance.within(1...3)).map { _ in chance.any(of: PlannedFlow.allCases) }
            self = .flows(peripheral, flows, pause: chance.seconds(0...20), isRetried: chance.onceIn(3))
        case 17: self = .typed(peripheral, Manner(&chance))
        case 18: self = .presence(Manner(&chance))
        case 19: self = .observes(peripheral, Manner(&chance))
        case 20: self = .serial(peripheral)
        case 21: self = .share(peripheral, (0..<chance.within(2...4)).map { _ in Manner(&chance) }, buffer)
        case 22, 23: self = .exchange(PlannedExchange(&chance, peripheral))
        case 24: self = .visits(host, Manner(&chance))
        default: self = .rests(chance.seconds(0...30))
        }
    }

    /// The peripherals that it needs.
    var peripherals: [Int] {
        switch self {
        case .use(let number, _, _), .follow(let number, _, _, _, _, _), .queue(let number, _, _, _),
            .receivesMessage(let number), .sendsMessage(let number), .flows(let number, _, _, _),
            .typed(let number, _), .observes(let number, _), .serial(let number), .share(let number, _, _):
            [number]
        case .session(let session): [session.peripheral]
        case .exchange(let exchange): [exchange.peripheral]
        case .fleet(let numbers, _, _), .restored(let numbers): numbers
        case .scan, .presence, .rests, .serves, .visits: []
        }
    }

    /// The name of its kind, for what a world has reached.
    var family: String { "\(self)".prefix { $0.isLetter }.description }
}

/// One of the tasks of a central's program.
struct PlannedProgram: Sendable, CustomStringConvertible {
    let number: Int
    let central: Int
    var steps: [(number: Int, step: PlannedStep)]

    init(_ number: Int, seed: UInt64, peripherals: Int, host: Int, isSmall: Bool) {
        var chance = Chance(seed, 0x2000 + UInt64(number))
        self.number = number
        central = chance.below(WorldPlan.centrals)
        steps = []
        for number in 0..<chance.within(1...(isSmall ? 3 : 6)) {
            steps.append((number, PlannedStep(&chance, peripherals: peripherals, host: host)))
        }
    }

    /// One that is a peripheral, now and then.
    init(_ number: Int, seed: UInt64, hostingBy central: Int) {
        var chance = Chance(seed, 0x2000 + UInt64(number))
        self.number = number
        self.central = central
        steps = (0..<chance.within(1...4)).map { number in
            let serves = number.isMultiple(of: 2)
            return (number, serves ? .serves(lasting: chance.seconds(5...120)) : .rests(chance.seconds(0...9)))
        }
    }

    var description: String {
        "c\(number), on central \(central):"
            + steps.map { "\n    c\(number).\($0.number): \($0.step)" }.joined()
    }
}
