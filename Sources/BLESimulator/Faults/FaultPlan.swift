/// Identifies a fault that was added to a plan.
public struct FaultID: Hashable, Sendable {
    let number: Int
}

/// The faults of an air: rules that can be added and removed at any time. A handle; copies are the same plan.
///
/// If several rules match one PDU, the one added first applies.
public struct FaultPlan: Sendable {
    let core: AirCore

    /// Adds a fault that applies to every adapter.
    @discardableResult
    public func add(_ fault: Fault) -> FaultID { add(fault, .everywhere) }

    /// Adds a fault that applies to one adapter, in either role.
    @discardableResult
    public func add(_ fault: Fault, on adapter: SimulatedAdapter) -> FaultID { add(fault, .adapter(adapter.id)) }

    /// Adds a fault that applies only between two adapters.
    @discardableResult
    public func add(
        _ fault: Fault,
        between first: SimulatedAdapter,
        and second: SimulatedAdapter
    ) -> FaultID {
        add(fault, .pair(AdapterPair(first.id, second.id)))
    }

    /// Removes a fault. PDUs that it holds back are delivered as planned.
    public func remove(_ fault: FaultID) { _ = core.perform { $0.removeFault(fault) } }

    /// Removes all faults.
    public func removeAll() { _ = core.perform { $0.removeAllFaults() } }

    /// How often a fault has struck; 0 after it was removed.
    public func strikes(of fault: FaultID) -> Int { core.perform { $0.faults.strikes(of: fault) } }

    private func add(_ fault: Fault, _ scope: FaultScope) -> FaultID {
        core.perform { $0.addFault(fault, scope) }
    }
}

/// The adapters that a fault applies to.
enum FaultScope: Hashable, Sendable {
    case everywhere
    case adapter(AdapterID)
    case pair(AdapterPair)

    func contains(_ a: AdapterID, _ b: AdapterID) -> Bool {
        switch self {
        case .everywhere: true
        case .adapter(let id): id == a || id == b
        case .pair(let pair): pair == AdapterPair(a, b)
        }
    }
}
