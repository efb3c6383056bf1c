internal import BLEProtocol

extension AdapterInfo {
    /// - Parameter facts: `nil` if there is no such adapter.
    init(_ facts: AdapterFacts?, name: String, on kernel: Kernel) {
        let state = AdapterInfo.State(facts, isBlocked: { RadioSwitches.block(of: name, on: kernel) != nil })
        self.init(name: name, address: facts?.address, state: state)
    }
}

extension AdapterInfo.State {
    /// The state of an adapter as the kernel reports it.
    ///
    /// A hanging controller shows by the reset that the kernel has requested, and by the restart that the kernel makes
    /// after a hardware error.
    ///
    /// - Parameters:
    ///   - facts: `nil` if there is no such adapter.
    ///   - isBlocked: whether a switch blocks it; called only if it matters.
    init(_ facts: AdapterFacts?, isBlocked: () -> Bool) {
        guard let facts else {
            self = .absent
            return
        }
        if facts.lacksLowEnergy {
            self = .unsupported
        } else if facts.isStarting {
            self = facts.isKnown ? .resetting : .unknown
        } else if facts.isUp {
            self = .poweredOn
        } else if isBlocked() {
            self = .blocked
        } else {
            self = facts.isKnown ? .poweredOff : .unknown
        }
    }

    /// The state of an adapter about which the kernel reports only this error.
    init(adapterRefusedBy error: SystemError) {
        self = error == .notPermitted || error == .accessDenied ? .unauthorized : .unknown
    }

    /// Whether it is about to change to another state, which the kernel does not always report.
    var isPassing: Bool { self == .unknown || self == .resetting }
}
