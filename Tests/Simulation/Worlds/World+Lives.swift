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
        let places = Places()
        let ends = plan.restarts.filter { $0.central == number }.map(\.time).sorted()
        for (life, end) in (ends.map(Optional.some) + [nil]).enumerated() {
            if try await live(number, life, places, until: end) { return }
            log("the programs of central \(number) begin anew")
            reached("restarted")
            try await reopen(number)
        }
    }

    /// One life of a central's programs, which ends with them, or cancels them when its time has come.
    ///
    /// - Returns: whether all have come to their end.
    private func live(_ number: Int, _ life: Int, _ places: Places, until end: Duration?) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.live(number, life, places)
                return true
            }
            if let end {
                group.addTask {
                    try await self.time.sleep(for: max(.zero, end - self.time.now))
                    return false
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? true
        }
    }

    private func live(_ number: Int, _ life: Int, _ places: Places) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in plan.programs where program.central == number {
                group.addTask {
                    while let (place, step) = places.take(of: program) {
                        try await self.run(step, "c\(program.number).\(place)", of: number)
                        try Task.checkCancellation()
                    }
                }
            }
            if life > 0 { group.addTask { try await self.restore(number, "c\(number) restored") } }
            try await group.waitForAll()
        }
    }

    /// Goes on with the sessions that the life before has kept, for a minute.
    private func restore(_ number: Int, _ name: String) async throws {
        let numbers = central(number).keptPlans.compactMap { self.number(of: $0) }.sorted()
        let missing = keptSessions(of: number).subtracting(numbers)
        if !missing.isEmpty { report("\(name): sessions with \(missing) were kept, and are gone", "kept") }
        if numbers.isEmpty { return }
        reached("sessions restored")
        try await run(.restored(numbers), name, of: number)
    }

    /// The peripheral of a plan that was kept.
    private func number(of plan: Session.Plan) -> Int? {
        guard case .addresses(let addresses) = plan.target else { return nil }
        return addresses.lazy.compactMap { self.number(of: $0) }.first
    }
}
