import BLEStreams

/// A world as its seed draws it: who is there, who does what, and what goes wrong. A plain value.
public struct WorldPlan: Sendable {
    public let seed: UInt64
    /// The parts that were taken away.
    public private(set) var removed: Set<Part> = []
    var peripherals: [PlannedPeripheral]
    var programs: [PlannedProgram]
    var faults: [PlannedFault]
    var restarts: [PlannedRestart]
    /// By how much jobs may run late; `nil`: none does.
    var delays: Duration?
    /// Whether the last central has two adapters as one.
    let isJoined: Bool

    static let centrals = 3
    /// For so long faults begin.
    static let length = Duration.seconds(240)

    public init(seed: UInt64) {
        var chance = Chance(seed, 0)
        self.seed = seed
        // Where much happens, what one step has left lying is picked up by another: in half of the worlds little does.
        let isSmall = chance.onceIn(2)
        let count = chance.any(of: isSmall ? [1, 1, 2, 3] : [1, 1, 2, 2, 3, 4, 6, 8])
        peripherals = (0..<count).map { PlannedPeripheral($0, seed: seed) }
        let host = chance.below(Self.centrals)
        programs = (0..<(isSmall ? chance.any(of: [1, 1, 1, 2, 2, 3]) : chance.within(1...9))).map {
            PlannedProgram($0, seed: seed, peripherals: count, host: host, isSmall: isSmall)
        }
        if chance.onceIn(3) { programs.append(PlannedProgram(programs.count, seed: seed, hostingBy: host)) }
        faults = (0..<(isSmall ? chance.below(4) : chance.below(10))).map {
            PlannedFault($0, seed: seed, peripherals: count, centrals: Self.centrals, length: Self.length)
        }
        let ends = chance.any(of: [0, 0, 0, 0, 1, 2])
        restarts = (0..<ends).map { PlannedRestart($0, seed: seed, centrals: Self.centrals) }
        delays = chance.any(of: [nil, .milliseconds(2), .milliseconds(40)])
        isJoined = chance.onceIn(3)
    }

    /// The world of a seed without some of its parts.
    public init(seed: UInt64, without parts: some Sequence<Part>) {
        self.init(seed: seed)
        for part in parts { remove(part) }
    }

    /// What can be taken away, the largest first.
    public var parts: [Part] {
        programs.map { .program($0.number) } + peripherals.map { .peripheral($0.number) }
            + restarts.map { .restart($0.number) } + faults.map { .fault($0.number) }
            + programs.flatMap { program in
                program.steps.count < 2 ? [] : program.steps.map { .step($0.number, of: program.number) }
            } + (delays == nil ? [] : [.delays])
    }

    public mutating func remove(_ part: Part) {
        removed.insert(part)
        switch part {
        case .program(let number): programs.removeAll { $0.number == number }
        case .fault(let number): faults.removeAll { $0.number == number }
        case .restart(let number): restarts.removeAll { $0.number == number }
        case .delays: delays = nil
        case .step(let step, let program):
            for index in programs.indices where programs[index].number == program {
                programs[index].steps.removeAll { $0.number == step }
            }
        case .peripheral(let number):
            peripherals.removeAll { $0.number == number }
            for index in programs.indices { programs[index].steps.removeAll { $0.step.peripherals.contains(number) } }
            faults.removeAll { fault in
                switch fault.scope {
                case .peripheral(number): true
                case .pair(_, let other): other == number
                default: false
                }
            }
        }
        programs.removeAll(where: \.steps.isEmpty)
    }

    public func removing(_ part: Part) -> WorldPlan {
        var copy = self
        copy.remove(part)
        return copy
    }
}

extension WorldPlan: CustomStringConvertible {
    /// The world as readable text: its peripherals, programs and faults, each a line or a few.
    public var description: String {
        let lines =
            peripherals.map(\.description) + programs.map(\.description) + restarts.map(\.description)
            + faults.map(\.description)
            + (delays.map { ["jobs run late, by up to \($0)"] } ?? [])
            + (isJoined ? ["central \(Self.centrals - 1) has two adapters as one"] : [])
        return "World \(seed)" + lines.map { "\n  " + $0 }.joined()
    }

    /// The command that runs it again.
    public var command: String {
        let without = removed.map(\.description).sorted().joined(separator: ",")
        return "swift run Simulation --seed \(seed)" + (without.isEmpty ? "" : " --without \(without)") + " --trace"
    }
}
