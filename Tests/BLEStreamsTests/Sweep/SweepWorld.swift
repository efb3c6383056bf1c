import BLERadio
import BLESimulator
import Foundation
import Synchronization

@testable import BLEStreams

/// A fresh world for one run of an operation, with a fault at one step, or with none.
final class SweepWorld: Sendable {
    /// How an operation ended.
    struct Ended: Sendable {
        let result: Result<String, any Error>
        /// How long it took, in virtual time; and from the fault on, where there was one.
        let elapsed: Duration
        let sinceFault: Duration?
    }

    let bench: Bench
    let radio: SteppingRadio
    let site: SweepSite
    let counter: StepCounter
    let fault: SweptFault?
    private let folder: URL?
    private let cancelled = Ending<Void>()
    private let hasConsumerGone = Flag()
    private let struckAt = Mutex<Duration?>(nil)
    private let outcome = Mutex<Ended?>(nil)
    private let timers = Mutex<[RadioActivity]>([])
    private let findings = Recorder<String>()

    /// What is done at the step, once there is a world to do it in.
    private struct Strike { var body: (@Sendable () -> Void)? }

    init(_ time: VirtualTime, _ site: SweepSite, _ fault: SweptFault?, at step: Int?) async throws {
        let air = SimulatedAir(time)
        let (near, far) = (air.adapter(), air.adapter())
        let strike = Mutex(Strike())
        counter = StepCounter(target: step) { _ in
            strike.withLock { $0 }.body?()
        }
        radio = SteppingRadio(near, counter)
        folder =
            fault == .storeUnwritable
            ? FileManager.default.temporaryDirectory.appending(path: "sweep-\(UUID())") : nil
        let store = folder.map { PeerStore(folder: $0.path()) { _ in } } ?? .inMemory()
        bench = Bench(
            time: time,
            air: air,
            centralAdapter: near,
            peripheralAdapter: far,
            central: try await Central.open(.radio(radio), store: store)
        )
        self.site = site
        self.fault = fault
        let filter = PDUFilter.where { [counter] octets in counter.count(.pdu(octets)) }
        air.faults.add(
            fault?.fault(filter)
                ?? .swallow(
                    .where { [counter] octets in
                        counter.count(.pdu(octets))
                        return false
                    }
                )
        )
        strike.withLock { $0.body = { [weak self] in self?.schedule(after: .zero) { $0.strike() } } }
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

    /// Does what is no matter of a single PDU; behind the step, since the radio is busy with that.
    private func strike() {
        struckAt.withLock { $0 = bench.time.now }
        let adapter = bench.centralAdapter
        switch fault {
        case .adapter(let state, let time):
            adapter.setState(state)
            guard let time else { return }
            schedule(after: time) { _ in adapter.setState(.poweredOn) }
        case .outOfRange(let time): bench.air.faults.add(.outOfRange(lasting: time))
        case .cancelled: cancelled.end(())
        case .consumerGone: hasConsumerGone.set()
        case .storeUnwritable: obstructStore()
        default: break
        }
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
        let since = struckAt.withLock { $0 }.map { now - $0 }
        outcome.withLock { $0 = Ended(result: result, elapsed: now - begin, sinceFault: since) }
    }

    /// Ends whatever fault lasts.
    private func heal() {
        bench.air.faults.removeAll()
        for timer in timers.withLock({ $0 }) { timer.cancel() }
        bench.centralAdapter.setState(.poweredOn)
        if fault == .storeUnwritable, let folder { try? FileManager.default.removeItem(at: folder) }
    }
}
