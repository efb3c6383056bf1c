/// What the command line asks for.
struct SimulationOptions: Sendable {
    enum Work: Sendable {
        case one(WorldPlan, isTraced: Bool)
        case worlds(Int)
        case hours(Double)
        case soak(Soak)
        /// A part of the work, in a process of its own.
        case worker(WorldPlan?, stride: Int, count: Int)
    }

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    var work = Work.worlds(300)
    /// The first seed.
    var first: UInt64 = 1
    /// How many processes work side by side.
    var jobs: Int
    /// Where the seeds are kept that have reached something new.
    var corpus: String?
    /// Where the soak's series is written.
    var table: String?

    static let usage = """
        usage: Simulation [--worlds N | --hours H] [--from SEED] [--jobs N] [--corpus FILE]
               Simulation --seed N [--without PARTS] [--trace]
               Simulation --soak [--days N] [--sensors N] [--seed N] [--csv FILE]

        Runs whole worlds in virtual time, each drawn from its seed: peripherals, centrals, programs and faults. A world
        that fails is made as small as it gets, and printed with the command that runs it again.

          --worlds N     how many; 300 unless said otherwise
          --hours H      for so long, in real time
          --from SEED    the first seed; 1 unless said otherwise
          --jobs N       how many processes; one for each core unless said otherwise
          --corpus FILE  the seeds that have reached something new: run first, and added to
          --seed N       this world only
          --without …    without these parts of it: c0 is a program, c0.1 a step, p2 a peripheral, f3 a fault
          --trace        and what happens in it, line by line
          --soak         a fleet of sensors for a year; values and memory are counted
          --days N       so many days; --sensors N: so many sensors; --csv FILE: the series, for each quarter of a day
        """

    init(_ arguments: some Sequence<String>, cores: Int) throws(Refusal) {
        jobs = cores
        var values: [String: String] = [:]
        var name: String?
        for argument in arguments {
            if let open = name {
                values[open] = argument
                name = nil
            } else if ["--trace", "--soak", "--worker", "--help"].contains(argument) {
                values[argument] = ""
            } else if Self.names.contains(argument) {
                name = argument
            } else {
                throw Refusal(description: "'\(argument)' is no option.\n\(Self.usage)")
            }
        }
        if let name { throw Refusal(description: "\(name) needs a value.\n\(Self.usage)") }
        if values["--help"] != nil { throw Refusal(description: Self.usage) }
        first = try Self.number("--from", values) ?? first
        jobs = max(1, try Self.number("--jobs", values) ?? jobs)
        (corpus, table) = (values["--corpus"], values["--csv"])
        if let count: Int = try Self.number("--worlds", values) { work = .worlds(count) }
        if let hours: Double = try Self.number("--hours", values) { work = .hours(hours) }
        let seed: UInt64? = try Self.number("--seed", values)
        if let seed {
            work = .one(try Self.plan(seed, without: values["--without"]), isTraced: values["--trace"] != nil)
        }
        if values["--worker"] != nil, let stride: Int = try Self.number("--stride", values) {
            let plan = try seed.map { seed throws(Refusal) in try Self.plan(seed, without: values["--without"]) }
            work = .worker(plan, stride: stride, count: try Self.number("--worlds", values) ?? .max)
        }
        if values["--soak"] != nil {
            var soak = Soak(seed: seed ?? 1)
            soak.days = try Self.number("--days", values) ?? soak.days
            soak.sensors = try Self.number("--sensors", values) ?? soak.sensors
            work = .soak(soak)
        }
    }

    private static let names: Set<String> = [
        "--worlds", "--hours", "--from", "--jobs", "--corpus", "--csv", "--seed", "--without", "--days", "--sensors",
        "--stride",
    ]

    private static func number<Number: LosslessStringConvertible>(
        _ name: String,
        _ values: [String: String]
    ) throws(Refusal) -> Number? {
        guard let text = values[name] else { return nil }
        guard let number = Number(text) else {
            throw Refusal(description: "\(name) needs a number, and not '\(text)'.")
        }
        return number
    }

    private static func plan(_ seed: UInt64, without text: String?) throws(Refusal) -> WorldPlan {
        var parts: [Part] = []
        for name in text?.split(separator: ",") ?? [] {
            guard let part = Part(name) else { throw Refusal(description: "'\(name)' is no part of a world.") }
            parts.append(part)
        }
        return WorldPlan(seed: seed, without: parts)
    }
}
