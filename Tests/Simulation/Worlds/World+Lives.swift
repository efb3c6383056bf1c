import BLESimulator
import BLEStreams
import Synchronization

/// The programs of a central, which may end and begin anew, as when a computer is started again.
extension World {
    /// How far each program of a central has come.
    private final class Places: Sendable {
        private let next = Mutex<[Int: Int]>([:])

        /// The next step of a program; each is begun once, also when it is cancelled.
        func take(of program: PlannedProgram) -> (number: Int, step: PlannedStep)? {
            next.withLock { next in
                let place = next[program.number, default: 0]
                guard program.steps.indices.contains(place) else { return nil }
                next[program.number] = place + 1
                return program.steps[place]
            }
        }
    }

    /// Runs the programs of a central, over all its lives.
    func runPrograms(of number: Int) async throws {
        let programs = plan.programs.filter { $0.central == number }
        let places = Places()
        let ends = plan.restarts.filter { $0.central == number }.map(\.time).sorted()
        for (life, end) in (ends.map(Optional.some) + [nil]).enumerated() {
            let isOver = try await live(programs, places, of: number, life, until: end)
            try Task.checkCancellation()
            if isOver || end == nil { return }
            log("the programs of central \(number) begin anew")
            reached("restarted")
            try await reopen(number)
        }
    }

    /// One life of a central's programs.
    ///
    /// - Returns: whether all have come to their end.
    private func live(
        _ programs: [PlannedProgram],
        _ places: Places,
        of number: Int,
        _ life: Int,
        until end: Duration?
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for program in programs {
                group.addTask {
                    while let (place, step) = places.take(of: program) {
                        try await self.run(step, "c\(program.number).\(place)", of: number)
                        try Task.checkCancellation()
                    }
                    return false
                }
            }
            if life > 0 {
                group.addTask {
                    try await self.restore(number, "c\(number) restored")
                    return false
                }
            }
            if let end {
                group.addTask {
                    try await self.time.sleep(for: max(.zero, end - self.time.now))
                    return true
                }
            }
            var running = programs.count + (life > 0 ? 1 : 0)
            do {
                while running > 0, let isTime = try await group.next() {
                    if isTime {
                        group.cancelAll()
                        while (try? await group.next()) != nil {}
                        return false
                    }
                    running -= 1
                }
            } catch is CancellationError where !Task.isCancelled {
                report("a program of central \(number) is cancelled, and nobody has cancelled it", "cancelled")
            }
            group.cancelAll()
            return true
        }
    }

    /// Goes on with the sessions that the life before has kept, for a minute.
    private func restore(_ number: Int, _ name: String) async throws {
        let numbers = central(number).keptPlans.compactMap { self.number(of: $0) }.sorted()
        let missing = kept(by: number).subtracting(numbers)
        if !missing.isEmpty { report("\(name): sessions with \(missing) were kept, and are gone", "kept") }
        if numbers.isEmpty { return }
        reached("sessions restored")
        try await run(.restored(numbers), name, of: number)
    }

    /// The peripheral of a plan that was kept.
    private func number(of plan: Session.Plan) -> Int? {
        guard case .addresses(let addresses) = plan.target else { return nil }
        return self.plan.peripherals.first { addresses.contains($0.address) }?.number
    }
}
