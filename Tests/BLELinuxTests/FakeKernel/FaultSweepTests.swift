import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Each operation of the radio, with each of its system calls failing in each way that the call can.
///
/// A reference run counts the calls. For each call, and each error that it may have, the operation is run again, and
/// ends in a value or in an error that says what it means and what to do. Nothing is left of it, and a new radio works.
///
/// Each run of the tests does a part; `BLESTREAMS_SWEEP=all` does it whole, `BLESTREAMS_SWEEP=scan` one operation
/// whole.
@Suite(.timeLimit(.minutes(10))) struct FaultSweepTests {
    /// One fault of so many is tried, a different one for each operation and call.
    private static let stride = Sweep.isWhole ? 1 : 7

    private static let operations = Sweep.chosen(of: FakeOperation.all) { $0.name }

    @Test(arguments: operations)
    func `an operation ends well whichever call fails`(_ operation: FakeOperation) async throws {
        let reference = Trial(operation, nil)
        let calls = try await reference.calls()
        var counts = Counts()
        for fault in Self.faults(calls) {
            let outcome = await Trial(operation, fault).run()
            counts.note(outcome)
            for complaint in outcome.complaints { Issue.record("\(operation.name), \(fault): \(complaint)") }
        }
        print("sweep | \(operation.name) | \(calls.count) calls, \(calls.values.reduce(0, +)) times | \(counts)")
    }

    /// A query that fails says nothing of what the adapter has.
    @Test(arguments: operations)
    func `nothing stays behind, whichever query is the first that doesn't find the adapter`(
        _ operation: FakeOperation
    ) async throws {
        let count = try await Trial(operation, nil).calls()[.adapterInfo] ?? 0
        for number in 0..<count {
            let fault = SystemFault(call: .adapterInfo, number: number + 1, effect: .keepsFailing(ENODEV))
            for complaint in await Trial(operation, fault).run().complaints {
                Issue.record("\(operation.name), \(fault): \(complaint)")
            }
        }
    }

    private static func faults(_ calls: [SystemCall: Int]) -> [SystemFault] {
        let first = calls.count % stride
        return SystemFault.all(of: calls, isWhole: Sweep.isWhole).enumerated().filter { $0.offset % stride == first }
            .map(\.element)
    }

    /// How runs ended.
    private struct Counts: CustomStringConvertible {
        var (runs, unreached, values, errors) = (0, 0, 0, 0)

        mutating func note(_ outcome: Trial.Outcome) {
            runs += 1
            if !outcome.isReached { unreached += 1 }
            if outcome.isValue { values += 1 } else { errors += 1 }
        }

        var description: String {
            "\(runs) faults: \(values) values, \(errors) errors, \(unreached) not reached"
        }
    }
}

/// What `BLESTREAMS_SWEEP` asks for: `all`, or the name of what is swept whole. Where it isn't set, a part of each is
/// swept.
enum Sweep {
    private static let choice = getenv("BLESTREAMS_SWEEP").map { String(cString: $0) }

    static let isWhole = choice != nil

    static func chosen<Subject>(of all: [Subject], _ name: (Subject) -> String) -> [Subject] {
        guard let choice, choice != "all" else { return all }
        return all.filter { name($0) == choice }
    }
}

/// One run of an operation, with one fault at most.
struct Trial {
    struct Outcome {
        var isReached = false
        var isValue = false
        var complaints: [String] = []
    }

    private let operation: FakeOperation
    private let fault: SystemFault?
    private let run: FakeRun

    init(_ operation: FakeOperation, _ fault: SystemFault?) {
        self.operation = operation
        self.fault = fault
        let kernel = FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.files["/dev/rfkill"] = []
            operation.prepare(&state)
            state.fault = fault
        }
        run = FakeRun(kernel: kernel)
    }

    /// The calls of a run without a fault, which ends in a value.
    func calls() async throws -> [SystemCall: Int] {
        do {
            try await operation.body(run)
        } catch {
            Issue.record("\(operation.name), without a fault: \(error)")
        }
        let calls = run.kernel.with { $0.calls }
        for complaint in await cleanUp() { Issue.record("\(operation.name), without a fault: \(complaint)") }
        return calls
    }

    func run() async -> Outcome {
        var outcome = Outcome()
        do {
            try await operation.body(run)
            outcome.isValue = true
        } catch let error as BLEError {
            if error.operation.isEmpty || error.cause.isEmpty || error.remedy.isEmpty {
                outcome.complaints.append("an error without a remedy: \(error)")
            }
        } catch {
            outcome.complaints.append("\(error)")
        }
        outcome.isReached = run.kernel.with { state in
            defer {
                state.fault = nil
                state.isCutShort = false
                state.isLate = false
            }
            return state.isReached
        }
        outcome.complaints += await cleanUp()
        outcome.complaints += await tryAgain()
        return outcome
    }

    /// What is left once the time of all timers has come.
    private func cleanUp() async -> [String] {
        _ = await run.kernel.run(run.timeline, within: FakeRun.patience) { false }
        var left = run.kernel.leftovers.map { "left open: \($0)" }
        // On a kernel that kills who closes a dead socket, one for which there is no thread stays open.
        if fault?.call == .threadStart, run.kernel.release.hasPrefix("6.1.") {
            left.removeAll { $0.contains("L2CAPSocket.Phase.dead") }
        }
        if run.timeline.running > 0 { left.append("\(run.timeline.running) timers run for ever") }
        return left
    }

    /// A new radio on the same kernel does its work.
    private func tryAgain() async -> [String] {
        run.kernel.with { state in
            for number in state.adapters.keys {
                state.adapters[number]?.silent = []
                // Nobody is there to stop it: it ends by itself.
                if state.adapters[number]?.isDiscovering == true { state.endDiscovery(of: number) }
                state.adapters[number]?.settings.insert(.powered)
            }
            state.peers[.example]?.isHere = true
        }
        do {
            let radio = try run.radio()
            try await run.hear(radio, ScanRequest())
            try await run.exchange(radio, with: .example)
            return try await leftOnAir()
        } catch {
            return ["afterwards: \(error)"]
        }
    }

    /// What is on the air once each adapter has advertised again: what could not be removed was noted, and is removed
    /// now.
    private func leftOnAir() async throws -> [String] {
        // Whoever may not advertise has left nothing on the air.
        guard run.kernel.with({ $0.isAdministrator }) else { return [] }
        for number in run.kernel.with({ $0.adapters.keys.sorted() }) {
            try await run.advertise(run.radio(number)).cancel()
            await run.kernel.idle()
        }
        let left = run.kernel.with { state in
            state.adapters.values.flatMap { adapter in
                adapter.instances.keys.map { "on the air: hci\(adapter.number), \($0)" }
                    + adapter.monitors.map { "monitor: hci\(adapter.number), \($0)" }
            }
        }
        return left.sorted()
    }
}
