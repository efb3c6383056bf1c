import BLERadio
import Synchronization

@testable import BLESimulator
@testable import BLEStreams

/// Looking for what an operation has left behind.
extension SweepWorld {
    /// For so long whatever was begun may take to go down: a PDU that is late, a link that is closed in order, a lost peer.
    static let settling = Duration.seconds(45)

    /// What is scheduled, and lasts.
    var timerCount: Int { bench.time.scheduler.withLock { $0.timerCount } }

    /// Whether a peripheral that has done as it was asked has said that it has not.
    private var isSentInVain: Bool {
        guard case .refused? = fault, let step = counter.struck else { return false }
        return step.pdu?.first == 0x13
    }

    /// Looks at a link that still stands behind the operation.
    func inspect(_ link: Link) async {
        guard link.bearer.end == nil else { return }
        // A stream that has ended switches its values off behind its consumer's back.
        try? await bench.time.sleep(for: .seconds(35))
        guard link.bearer.end == nil else { return }
        if !isSentInVain, !site.subscriptions.isEmpty {
            report("on the link, values are still sent: \(site.subscriptions)")
        }
        let left = link.bearer.state.withLock { state -> [String] in
            var left: [String] = []
            if !state.calls.isEmpty { left.append("calls") }
            if !state.machine.operations.isEmpty { left.append("operations") }
            if !state.machine.purposes.isEmpty { left.append("procedures") }
            if state.machine.subscriptions.keys.contains(where: { $0 != LinkMachine.own }) {
                left.append("subscriptions")
            }
            if !state.raises.isEmpty { left.append("raises") }
            if state.machine.lane.isWaitedFor { left.append("who waits for the lane") }
            return left
        }
        if !left.isEmpty { report("on the link: \(left.joined(separator: ", "))") }
    }

    /// Looks at the world once everything is over.
    ///
    /// - Parameter baseline: the timers of before.
    func inspect(baseline: Int) async throws {
        try await bench.time.sleep(for: Self.settling)
        let core = central.core
        let (near, far) = (bench.centralAdapter.activity, bench.peripheralAdapter.activity)
        if !near.isIdle { report("the central's adapter: \(near)") }
        if !far.links.isEmpty { report("the peripheral's adapter has links: \(far.links)") }
        if far.advertisementCount != 1 || far.listenerCount != 1 { report("the peripheral's adapter: \(far)") }
        let entries = core.connector.state.withLock { $0.entries.count + $0.current.count + $0.outbox.count }
        if entries != 0 { report("the connector has \(entries) entries") }
        if !areTurnsFree { report("the connector's turns are not all free") }
        let isQuiet = Flag()
        core.states.whenQuiet { isQuiet.set() }
        if !isQuiet.isSet { report("a connection is not said to be over: \(core.states.current(peripheral.address))") }
        if !site.subscriptions.isEmpty { report("values are still sent: \(site.subscriptions)") }
        if radio.heldLinks != 0 { report("\(radio.heldLinks) links are still held") }
        // An adapter that has heard nobody is looked after for a while longer.
        try await bench.time.sleep(for: .seconds(300))
        if timerCount != baseline { report("\(timerCount) timers, \(baseline) before") }
    }

    /// As many peripherals as ever have the radio side by side.
    private var areTurnsFree: Bool {
        let granted = Mutex(0)
        let leaves = (0..<16).map { _ in central.core.connector.turns.enter(grant: { granted.withLock { $0 += 1 } }) }
        defer { for leave in leaves { leave() } }
        return granted.withLock { $0 } == 16
    }
}
