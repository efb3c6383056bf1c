import BLERadio
import BLESimulator
import Foundation
import Synchronization

@testable import BLEStreams

/// A fresh world for one run of an operation, with a fault at one step, with two, or with none.
final class SweepWorld: Sendable {
    /// How an operation ended.
    struct Ended: Sendable {
        let result: Result<String, any Error>
        /// How long it took, in virtual time.
        let elapsed: Duration
        /// How long it went on from the first fault on, and once it was cancelled, where that has come.
        let sinceFault: Duration?
        let sinceCancellation: Duration?
    }

    let bench: Bench
    /// The central's adapters, several of them joined; faults strike the first one.
    let radios: [SteppingRadio]
    let site: SweepSite
    let counter: StepCounter
    let faults: [PlacedFault]
    private let folder: URL?
    private let cancelled = Ending<Void>()
    private let hasConsumerGone = Flag()
    private let struck = Mutex<[(fault: SweptFault, time: Duration)]>([])
    private let outcome = Mutex<Ended?>(nil)
    private let timers = Mutex<[RadioActivity]>([])
    private let findings = Recorder<String>()

    /// What is done at a step, once there is a world to do it in.
    private struct Strike { var body: (@Sendable (Int) -> Void)? }

    init(_ time: VirtualTime, _ site: SweepSite, _ faults: [PlacedFault]) async throws {
        let air = SimulatedAir(time)
        let near = (0..<site.adapters).map { _ in air.adapter() }
        let far = air.adapter()
        for (number, adapter) in near.enumerated() {
            air.setSignal(.dBm(-50 - 20 * number), between: adapter, and: far)
        }
        let strike = Mutex(Strike())
        let counter = StepCounter(targets: Set(faults.map(\.step.number))) { step in
            strike.withLock { $0 }.body?(step.number)
        }
        self.counter = counter
        radios = near.map { SteppingRadio($0, counter) }
        folder =
            faults.contains { $0.fault == .storeUnwritable }
            ? FileManager.default.temporaryDirectory.appending(path: "sweep-\(UUID())") : nil
        let store = folder.map { PeerStore(folder: $0.path()) { _ in } } ?? .inMemory()
        bench = Bench(
            time: time,
            air: air,
            centralAdapter: near[0],
            peripheralAdapter: far,
            central: try await Central.open(
                radios.count == 1 ? .radio(radios[0]) : .joined(radios.map { .radio($0) }),
                store: store
            )
        )
        self.site = site
        self.faults = faults
        addRules()
        strike.withLock {
            $0.body = { [weak self] number in self?.schedule(after: .zero) { $0.strike(at: number) } }
        }
    }

    /// The first rule counts every PDU, and does nothing to any.
    private func addRules() {
        bench.air.faults.add(
            .swallow(
                .where { [counter] octets in
                    counter.count(.pdu(octets))
                    return false
                }
            )
        )
        for placed in faults {
            let filter = PDUFilter.where { [counter] _ in counter.isAt(placed.step.number) }
            if let fault = placed.fault.fault(filter) { bench.air.faults.add(fault) }
        }
    }

    deinit { if let folder { try? FileManager.default.removeItem(at: folder) } }

    var peripheral: Peripheral { bench.peripheral }
    var central: Central { bench.central }
    var ended: Ended? { outcome.withLock { $0 } }
    var problems: [String] { findings.all }
    /// Whether whoever consumes a stream is to leave it now.
    var consumerLeaves: Bool { hasConsumerGone.isSet }

    func report(_ problem: String) { findings.add(problem) }

    private func schedule(after delay: Duration, _ action: @escaping @Sendable (SweepWorld) -> Void) {
        let timer = bench.time.schedule(after: delay) { [weak self] in self.map(action) }
        timers.withLock { $0.append(timer) }
    }

    /// Whether this is what goes wrong, or part of it.
    func has(_ fault: SweptFault) -> Bool { faults.contains { $0.fault == fault } }

    /// Does what is no matter of a single PDU; behind the step, since the radio is busy with that.
    private func strike(at number: Int) {
        for placed in faults where placed.step.number == number { strike(placed.fault) }
    }

    private func strike(_ fault: SweptFault) {
        struck.withLock { $0.append((fault, bench.time.now)) }
        switch fault {
        case .adapter(let state, let time): set(bench.centralAdapter, to: state, lasting: time)
        case .peer(let state, let time): set(bench.peripheralAdapter, to: state, lasting: time)
        case .outOfRange(let time): bench.air.faults.add(.outOfRange(lasting: time))
        case .cancelled: cancelled.end(())
        case .consumerGone: hasConsumerGone.set()
        case .storeUnwritable: obstructStore()
        default: break
        }
    }

    private func set(_ adapter: SimulatedAdapter, to state: AdapterInfo.State, lasting time: Duration?) {
        adapter.setState(state)
        guard let time else { return }
        schedule(after: time) { _ in adapter.setState(.poweredOn) }
    }

    /// What a program has no right to write to fails in the same way for whoever runs the tests.
    private func obstructStore() {
        guard let folder else { return }
        try? FileManager.default.removeItem(at: folder)
        try? Data().write(to: folder)
    }

    /// Runs one part of an operation, which is cancelled when that is the fault, while the others go on.
    ///
    /// - Returns: `nil` where it was cancelled.
    func cancelled(_ body: @escaping @Sendable () async throws -> String) async throws -> String? {
        try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask { try await body() }
            group.addTask { [cancelled, bench] in
                try await reply(on: bench.time) { finish in cancelled.whenEnded { finish(.success(())) } }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Runs the operation itself: its steps are counted, and the fault strikes one of them.
    ///
    /// - Parameter isCancelled: whether all of it is cancelled when that is the fault.
    func sweep(isCancelled: Bool = true, _ body: @escaping @Sendable () async throws -> String) async {
        let begin = bench.time.now
        counter.begin()
        let result = await withTaskGroup(of: Result<String, any Error>?.self) { group in
            group.addTask {
                do { return .success(try await body()) } catch { return .failure(error) }
            }
            group.addTask { [cancelled, bench] in
                try? await reply(on: bench.time) { finish -> @Sendable () -> Void in
                    guard isCancelled else { return {} }
                    return cancelled.whenEnded { finish(.success(())) }
                }
                return nil
            }
            var result: Result<String, any Error>?
            for await outcome in group {
                result = outcome ?? result
                group.cancelAll()
            }
            return result
        }
        counter.end()
        let now = bench.time.now
        heal()
        guard let result else { return report("it has no result") }
        let struck = struck.withLock { $0 }
        let cancellation = struck.first { $0.fault == .cancelled }
        outcome.withLock {
            $0 = Ended(
                result: result,
                elapsed: now - begin,
                sinceFault: struck.first.map { now - $0.time },
                sinceCancellation: cancellation.map { now - $0.time }
            )
        }
    }

    /// Ends whatever fault lasts.
    private func heal() {
        bench.air.faults.removeAll()
        for timer in timers.withLock({ $0 }) { timer.cancel() }
        bench.centralAdapter.setState(.poweredOn)
        bench.peripheralAdapter.setState(.poweredOn)
        if has(.storeUnwritable), let folder { try? FileManager.default.removeItem(at: folder) }
    }
}
