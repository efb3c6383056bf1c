import BLESimulator
import BLEStreams

/// What goes wrong in a world, and how it is mended.
extension World {
    /// Begins a fault when its time has come, and ends it where it lasts for a while.
    func begin(_ planned: PlannedFault) async throws {
        try await time.sleep(for: planned.begin)
        log("begins: \(planned)")
        begins(planned)
        if let fault = planned.fault {
            guard let id = add(fault, planned.scope) else { return }
            guard let duration = planned.lasting else { return }
            try await time.sleep(for: duration)
            return air.faults.remove(id)
        }
        for adapter in adapters(in: planned.scope) {
            switch planned.kind {
            case .deaf: adapter.goDeaf(untilPowerCycle: planned.number % 2 == 0)
            case .hangs: adapter.hang()
            case .forgetsBonds:
                adapter.forgetBonds()
                if case .peripheral(let number) = planned.scope { renewStore(of: number) }
            case .adapter(let state, let duration):
                adapter.setState(state)
                try await time.sleep(for: duration)
                adapter.setState(.poweredOn)
            default: break
            }
        }
    }

    private func add(_ fault: Fault, _ scope: PlannedFault.Scope) -> FaultID? {
        switch scope {
        case .everywhere: return air.faults.add(fault)
        case .central(let number): return air.faults.add(fault, on: centralAdapters[number])
        case .peripheral(let number): return adapter(of: number).map { air.faults.add(fault, on: $0) }
        case .pair(let central, let peripheral):
            return adapter(of: peripheral).map { air.faults.add(fault, between: centralAdapters[central], and: $0) }
        }
    }

    private func adapters(in scope: PlannedFault.Scope) -> [SimulatedAdapter] {
        switch scope {
        case .everywhere: centralAdapters
        case .central(let number), .pair(let number, _): [centralAdapters[number]]
        case .peripheral(let number): adapter(of: number).map { [$0] } ?? []
        }
    }

    /// Ends all that is wrong.
    func mend() {
        log("mended")
        air.faults.removeAll()
        for adapter in centralAdapters + plan.peripherals.compactMap({ adapter(of: $0.number) }) {
            // What hangs, or is deaf, is well again once it was switched off: one that is off is switched on before.
            adapter.setState(.poweredOn)
            adapter.setState(.poweredOff)
            adapter.setState(.poweredOn)
        }
    }
}
