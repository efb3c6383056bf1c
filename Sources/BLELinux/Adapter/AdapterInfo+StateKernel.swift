internal import BLEProtocol
internal import BLERadio

extension AdapterInfo {
    /// - Parameter facts: `nil` where there is no such adapter.
    init(_ facts: AdapterFacts?, name: String, on kernel: Kernel) {
        let state = AdapterInfo.State(facts, isBlocked: { RadioSwitches.block(of: name, on: kernel) != nil })
        self.init(name: name, address: facts?.address, state: state)
    }
}

extension AdapterInfo.State {
    /// What an adapter is by the kernel's word of it.
    ///
    /// A controller that hangs is known by the reset that the kernel has told it to do, and by the restart that the kernel
    /// makes after an error of the hardware.
    ///
    /// - Parameters:
    ///   - facts: `nil` where there is no such adapter.
    ///   - isBlocked: whether a switch keeps it silent; asked only where it is of account.
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

    /// What is said of an adapter of which the kernel says nothing but this.
    init(adapterRefusedBy error: SystemError) {
        self = error == .notPermitted || error == .accessDenied ? .unauthorized : .unknown
    }

    /// Whether it is on its way to another state, of which the kernel does not always tell.
    var isPassing: Bool { self == .unknown || self == .resetting }
}
