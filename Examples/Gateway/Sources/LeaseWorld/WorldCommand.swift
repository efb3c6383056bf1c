import Leases

/// What the program's arguments ask for.
public struct WorldCommand: Equatable, Sendable {
    /// The first seed.
    public var seed: UInt64 = 1
    /// How many worlds, each with the next seed.
    public var worlds = 200
    /// How many gateways; `nil`: each world draws it.
    public var gateways: Int?
    /// How many sensors; `nil`: each world draws it.
    public var sensors: Int?
    /// How many virtual hours; `nil`: three quarters of one.
    public var hours: Double?
    /// Whether what happens is printed.
    public var isTraced = false
    /// The name of the rule that is left out.
    public var without: String?

    /// An argument that the program doesn't take.
    public struct Failure: Error, CustomStringConvertible {
        /// Which one, and what to do.
        public let description: String
    }

    /// The rules that can be left out, by name.
    public static let rules = ["echo", "predecessors", "listening", "stopping", "remembering", "storing"]

    /// What the program takes.
    public static let usage = """
        usage: LeaseSimulation [--seed N] [--worlds N] [--gateways N] [--sensors N] [--hours H] [--trace]
                               [--without \(rules.joined(separator: "|"))]
        """

    /// Reads the arguments.
    ///
    /// - Throws: ``Failure`` if there is one that the program doesn't take, or that has no usable value.
    public init(_ arguments: some Sequence<String>) throws(Failure) {
        var arguments = arguments.makeIterator()
        while let name = arguments.next() {
            if name == "--trace" {
                isTraced = true
                continue
            }
            guard let value = arguments.next() else {
                throw Failure(description: "\(name) is unknown, or has no value.\n\(WorldCommand.usage)")
            }
            guard set(name, value) else {
                throw Failure(description: "\(name) \(value) can't be used.\n\(WorldCommand.usage)")
            }
        }
    }

    private mutating func set(_ name: String, _ value: String) -> Bool {
        let number = Int(value).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
        switch name {
        case "--seed":
            guard let seed = UInt64(value) else { return false }
            self.seed = seed
            return true
        case "--worlds": worlds = number ?? worlds
        case "--gateways": gateways = number
        case "--sensors": sensors = number
        case "--hours":
            hours = Double(value).flatMap { $0 > 0 && $0 <= 1000 ? $0 : nil }
            return hours != nil
        case "--without":
            without = value
            return WorldCommand.rules.contains(value)
        default: return false
        }
        return number != nil
    }

    /// The plan of one of the worlds.
    public func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan(seed: seed, gateways: gateways, sensors: sensors, hours: hours)
        switch without {
        case "echo": plan.rules.waitsForEcho = false
        case "predecessors": plan.rules.comparesPredecessors = false
        case "listening": plan.rules.listens = false
        case "stopping": plan.rules.stopsUnconfirmed = false
        case "remembering": plan.rules.remembersEpochs = false
        case "storing": plan.rules.storesBeforeClaiming = false
        default: break
        }
        return plan
    }

    /// How to run one of the worlds again, and see what happens.
    public func replay(_ seed: UInt64) -> String {
        var words = ["swift run -c release --package-path Examples/Gateway LeaseSimulation --seed \(seed) --worlds 1"]
        if let gateways { words.append("--gateways \(gateways)") }
        if let sensors { words.append("--sensors \(sensors)") }
        if let hours { words.append("--hours \(hours)") }
        if let without { words.append("--without \(without)") }
        return words.joined(separator: " ") + " --trace"
    }
}
