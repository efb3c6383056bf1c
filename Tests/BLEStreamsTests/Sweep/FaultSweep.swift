import BLESimulator
import BLEStreams
import Testing

/// A fault, and the step at which it strikes.
struct PlacedFault: Sendable, CustomStringConvertible {
    let fault: SweptFault
    let step: RadioStep

    var description: String { "\(fault) at step \(step)" }
}

/// Runs operations with faults, each at each of their steps, and says what came of it.
struct FaultSweep: Sendable {
    /// A run with a fault at a step, or with another one at a later step too, which the run may not reach any more.
    struct Case: Sendable, CustomStringConvertible {
        let operation: SweptOperation
        let seed: UInt64
        let faults: [PlacedFault]

        var description: String {
            "\(operation), seed \(seed): " + faults.map(\.description).joined(separator: ", then ")
        }

        /// Each fault may take all of its time.
        var deadline: Duration { operation.deadline * faults.count }
        var altersValues: Bool { faults.contains { $0.fault.altersValues } }
        /// The name of its row in the table.
        var family: String { faults.count == 1 ? faults[0].fault.family : SweepTable.pairs }
    }

    /// What a run without a fault has shown.
    struct Reference: Sendable {
        let operation: SweptOperation
        let seed: UInt64
        let steps: [RadioStep]
        let value: String

        private var places: [PlacedFault] {
            steps.flatMap { step in
                SweptFault.all.filter { $0.strikes(at: step) }.map { PlacedFault(fault: $0, step: step) }
            }
        }

        /// Each fault at each step at which it can strike.
        var cases: [Case] { places.map { Case(operation: operation, seed: seed, faults: [$0]) } }

        /// Each fault at each step, and after each some other one, which the seed draws.
        var pairs: [Case] {
            var chance = Chance(seed: seed)
            return places.compactMap { place in
                let later = steps.dropFirst(place.step.number + 1)
                guard let step = later.randomElement(using: &chance) else { return nil }
                let others = SweptFault.all.filter { $0.strikes(at: step) }
                guard let fault = others.randomElement(using: &chance) else { return nil }
                return Case(operation: operation, seed: seed, faults: [place, PlacedFault(fault: fault, step: step)])
            }
        }
    }

    /// What came of a run.
    struct Verdict: Sendable {
        /// `value`, `cancelled`, or the code of the error.
        var outcome: String
        var problems: [String]
    }

    static func reference(of operation: SweptOperation, seed: UInt64) async throws -> Reference {
        let (world, problems) = try await run(operation, seed, [])
        #expect(problems.isEmpty, "\(operation), without a fault: \(problems)")
        let ended = try #require(world.ended, "\(operation) has not ended")
        return try Reference(
            operation: operation,
            seed: seed,
            steps: world.counter.steps,
            value: ended.result.get()
        )
    }

    static func verdict(of one: Case, against reference: Reference) async -> Verdict {
        do {
            let (world, problems) = try await run(one.operation, one.seed, one.faults)
            guard let ended = world.ended else { return Verdict(outcome: "none", problems: problems + ["no end"]) }
            let judged = judge(ended, one, reference)
            let struck = ended.sinceFault != nil ? [] : ["the fault has not struck"]
            return Verdict(outcome: judged.outcome, problems: problems + judged.problems + struck)
        } catch {
            return Verdict(outcome: "none", problems: ["the world: \(error)"])
        }
    }

    /// Runs an operation in a world of its own, and looks for what it has left behind.
    private static func run(
        _ operation: SweptOperation,
        _ seed: UInt64,
        _ faults: [PlacedFault]
    ) async throws -> (SweepWorld, [String]) {
        try await VirtualTime.run(seed: seed, limit: .seconds(3600 * (1 + faults.count))) { time in
            let site = operation.site()
            let world = try await SweepWorld(time, site, faults)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let isRestarted = faults.contains { if case .peer = $0.fault { true } else { false } }
                group.addTask { try await site.live(world.bench, isRestarted: isRestarted) }
                do {
                    try await time.sleep(for: .seconds(20))
                    let baseline = world.timerCount
                    try await operation.run(world)
                    try await world.use()
                    try await world.inspect(baseline: baseline)
                    try await world.use()
                } catch {
                    group.cancelAll()
                    throw error
                }
                group.cancelAll()
            }
            return (world, world.problems)
        }
    }

    // MARK: - What is right

    private static func judge(
        _ ended: SweepWorld.Ended,
        _ one: Case,
        _ reference: Reference
    ) -> (outcome: String, problems: [String]) {
        var problems: [String] = []
        if ended.elapsed > one.deadline { problems.append("it took \(ended.elapsed)") }
        if let time = ended.sinceCancellation, time > one.operation.cancellation {
            problems.append("it went on for \(time) once it was cancelled")
        }
        switch ended.result {
        case .success(let value):
            if value != reference.value, !one.altersValues, value != "left" {
                problems.append("it returned \(value), and not \(reference.value)")
            }
            return ("value", problems)
        case .failure(is CancellationError):
            if ended.sinceCancellation == nil { problems.append("it threw a CancellationError") }
            return ("cancelled", problems)
        case .failure(let error as BLEError):
            if error.operation.isEmpty || error.cause.isEmpty { problems.append("nothing says what failed: \(error)") }
            if error.remedy.isEmpty { problems.append("no remedy: \(error)") }
            return ("\(error.code)", problems)
        case .failure(let error):
            return ("other", problems + ["it threw \(error)"])
        }
    }
}

extension SweepWorld {
    /// Whether a write was cut off on its way: it is valid, and leaves the peripheral with what came of the value,
    /// perhaps nothing.
    private var hasCutOffWrite: Bool {
        let writes: [ATTOpcode] = [.writeRequest, .writeCommand, .prepareWriteRequest]
        return faults.contains { placed in
            placed.fault == .cutOff
                && placed.step.pdu?.first.map { writes.contains(ATTOpcode(rawValue: $0)) } == true
        }
    }

    /// Does what any program does: whatever went wrong before, it works now.
    func use() async throws {
        do {
            peripheral.forgetServices()
            let (value, notified) = try await peripheral.withLink(timeout: .seconds(20)) { link in
                let known = site.known
                return (
                    try await Array(link.read(known.readable)),
                    try await known.notifying.mapped { uuid in
                        try await Array(link.notifications(of: uuid).timeout(.seconds(20)).first())
                    }
                )
            }
            if value.isEmpty && !hasCutOffWrite || notified?.isEmpty == true {
                report("used afterwards, it answers nothing")
            }
        } catch {
            report("used afterwards: \(error)")
        }
        try await bench.time.sleep(for: .seconds(10))
        let activity = bench.centralAdapter.activity
        if !activity.isIdle { report("used afterwards, it keeps \(activity)") }
    }
}

extension Optional {
    fileprivate func mapped<Output>(_ body: (Wrapped) async throws -> Output) async rethrows -> Output? {
        guard let self else { return nil }
        return try await body(self)
    }
}
