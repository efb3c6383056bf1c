import BLEProtocol
import BLERadio
import BLEStreams
import Testing

@testable import BLELinux

/// A peripheral on the fake kernel that is cancelled at each of its system calls, or whose closure returns, with each
/// of its calls failing in each way: when it has ended, nothing of it is on the air, since the program may exit then.
///
/// Each run of the tests does a part; `BLESTREAMS_SWEEP=all` does it whole, `BLESTREAMS_SWEEP='a peripheral'` one of
/// them whole.
@Suite struct PeripheralEndTests {
    private static let peripherals = Sweep.chosen(of: FakePeripheral.all) { $0.name }

    // The whole of one peripheral is more than a hundred thousand runs.
    @Test(.timeLimit(.minutes(Sweep.isWhole ? 240 : 30)), arguments: peripherals)
    func `nothing is left on the air, whenever it ends and whichever call fails`(
        _ peripheral: FakePeripheral
    ) async throws {
        let whole = try await Trial(peripheral.operation(endingAfter: nil), nil).calls()
        let count = whole.values.reduce(0, +)
        var (runs, values, errors, unreached) = (0, 0, 0, 0)
        for end in [nil] + (0..<count).map(Optional.some) {
            let operation = peripheral.operation(endingAfter: end)
            let calls = try await Trial(operation, nil).calls()
            let faults = SystemFault.all(of: calls, isWhole: Sweep.isWhole)
            // Primes, so that different faults are tried at different ends.
            let stride = Sweep.isWhole ? 1 : 211
            for (number, fault) in faults.enumerated() where (number + (end ?? 0) * 37) % stride == 0 {
                let outcome = await Trial(operation, fault).run()
                runs += 1
                if outcome.isValue { values += 1 } else { errors += 1 }
                if !outcome.isReached { unreached += 1 }
                for complaint in outcome.complaints { Issue.record("\(operation.name), \(fault): \(complaint)") }
            }
        }
        #expect(runs > 0 && unreached < runs)
        print(
            "sweep | \(peripheral.name), ended at each of \(count) calls | "
                + "\(runs) faults: \(values) values, \(errors) errors, \(unreached) not reached"
        )
    }
}

/// A peripheral that is served on a fake kernel.
struct FakePeripheral: Sendable, CustomTestStringConvertible {
    let name: String
    /// Whether a central of this kernel is connected to it when it ends.
    var hasCentral = false
    let description: LocalPeripheral
    /// What a program does with it, before its closure returns.
    var use: @Sendable (PeripheralServer) async throws -> Void = { _ in }

    var testDescription: String { name }

    private static let thermometer = LocalPeripheral(name: "Thermometer") {
        LocalService(.environmentalSensing) {
            LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify], value: .stored([1, 2]))
        }
    }

    static let all = [
        FakePeripheral(name: "a beacon", description: .beacon([])),
        FakePeripheral(name: "a peripheral", description: thermometer),
        FakePeripheral(name: "a peripheral with a central", hasCentral: true, description: thermometer),
    ]

    /// Serves it, and ends it: by a cancellation after so many system calls, otherwise when its closure returns.
    func operation(endingAfter calls: Int?) -> FakeOperation {
        FakeOperation("\(name), \(calls.map { "cancelled \($0) calls on" } ?? "left when it is served")") { run in
            try await run.serve(self, endingAfter: calls)
        }
    }
}

extension FakeRun {
    fileprivate func serve(_ peripheral: FakePeripheral, endingAfter calls: Int?) async throws {
        let (radio, central) = (try radio(kernel.peripheral), peripheral.hasCentral ? try radio() : nil)
        let attempt = Collector<Result<any ATTLink, BLEError>>()
        let address = kernel.with { $0.adapters[kernel.peripheral]?.address } ?? .example
        let connecting = central?.connect(to: address) { attempt.add($0) }
        defer { connecting?.cancel() }
        let outcome = Collector<Result<Void, any Error>>()
        await withTaskGroup(of: Void.self) { group in
            // All of it runs on the radio's thread: the kernel is idle only when none of it can go on.
            group.addTask(executorPreference: radio.executor) {
                await Self.work(peripheral, on: radio, until: calls.map { kernel.moment(after: $0) }) {
                    outcome.add($0)
                    // At this moment the program may exit.
                    outcome.add(Result { try kernel.checkAir(of: kernel.peripheral) })
                }
            }
            _ = await kernel.run(timeline, within: Self.patience) { outcome.all.count == 2 }
            group.cancelAll()
        }
        for case .success(let link) in attempt.all { _ = try await End(link).end(in: self) }
        let outcomes = outcome.all
        guard outcomes.count == 2 else { throw Hang(description: "serving has no end") }
        try outcomes[1].get()
        do {
            try outcomes[0].get()
        } catch is CancellationError {
            guard calls != nil else { throw CancellationError() }
        }
    }

    /// Serves it until the moment comes, and tells how that ended.
    private static func work(
        _ peripheral: FakePeripheral,
        on radio: LinuxRadio,
        until moment: AsyncStream<Never>?,
        _ tell: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await peripheral.description.run(on: radio, warning: { _ in }) { server in
                        try await peripheral.use(server)
                        guard moment != nil else { return }
                        let (never, _) = AsyncStream<Never>.makeStream()
                        for await _ in never {}
                    }
                    tell(.success(()))
                } catch {
                    tell(.failure(error))
                }
            }
            if let moment {
                group.addTask { for await _ in moment {} }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

extension FakeKernel {
    /// Ends after so many more system calls.
    fileprivate func moment(after calls: Int) -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        with { $0.moments.append((calls, { continuation.finish() })) }
        return stream
    }

    /// Whether an adapter does nothing that others would see. What can't be removed, since the kernel takes no command
    /// any more, is noted for the next program.
    fileprivate func checkAir(of adapter: UInt16) throws {
        let (left, takesNothing, isNoted) = with { state in
            var takesNothing = false
            if let fault = state.fault, case .keepsFailing = fault.effect { takesNothing = fault.call == .send }
            return (
                state.adapters[adapter]?.instances.keys.sorted() ?? [], takesNothing,
                state.links.keys.contains { $0.contains("/advertisement-") }
            )
        }
        guard left.isEmpty || takesNothing && isNoted else {
            throw FakeRun.Hang(description: "on the air at its end: \(left)")
        }
    }
}
