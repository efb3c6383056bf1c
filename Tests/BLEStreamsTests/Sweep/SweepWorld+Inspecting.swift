import BLESimulator

@testable import BLEStreams

/// Looking for what an operation has left behind.
extension SweepWorld {
    /// For so long whatever was begun may take to go down: a PDU that is late, a link that is closed in order, a lost
    /// peer.
    static let settling = Duration.seconds(45)

    /// What is scheduled, and lasts.
    var timerCount: Int { bench.time.timerCount }

    /// Whether a peripheral goes on sending although all was done to switch it off: it has done as it was asked and
    /// said that it has not, or was asked by a request that did not arrive as it was sent.
    private var isSentInVain: Bool {
        faults.contains { placed in
            let pdus = counter.struck.filter { $0.number == placed.step.number }.compactMap(\.pdu)
            switch placed.fault {
            case .refused: return pdus.contains { $0.first == 0x13 }
            case .cutOff, .corrupted: return pdus.contains { $0.first == 0x12 && $0.dropFirst(3) == [0, 0] }
            default: return false
            }
        }
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
        let left = link.leftovers
        if !left.isEmpty { report("on the link: \(left.joined(separator: ", "))") }
    }

    /// Looks at the world once everything is over.
    ///
    /// - Parameter baseline: the timers of before.
    func inspect(baseline: Int) async throws {
        try await bench.time.sleep(for: Self.settling)
        let far = bench.peripheralAdapter.activity
        for near in radios.map(\.activity) where !near.isIdle { report("the central's adapter: \(near)") }
        if !far.links.isEmpty { report("the peripheral's adapter has links: \(far.links)") }
        if far.advertisementCount != 1 || far.listenerCount != 1 { report("the peripheral's adapter: \(far)") }
        for left in central.leftovers { report(left) }
        if !site.subscriptions.isEmpty { report("values are still sent: \(site.subscriptions)") }
        let held = radios.map(\.heldLinks).reduce(0, +)
        if held != 0 { report("\(held) links are still held") }
        // An adapter that has heard nobody is looked after for a while longer.
        try await bench.time.sleep(for: .seconds(300))
        if timerCount != baseline { report("\(timerCount) timers, \(baseline) before") }
    }
}
