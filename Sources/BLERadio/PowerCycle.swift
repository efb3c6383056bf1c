public import BLEProtocol

extension Radio {
    /// Switches the adapter off with ``setPowered(_:result:)``, then on again.
    public func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        unattended { answer in
            setPowered(false, result: answer)
        } answer: { (outcome: Result<Void, BLEError>) in
            guard case .success = outcome else { return result(outcome) }
            unattended {
                self.setPowered(true, result: $0)
            } answer: { (outcome: Result<Void, BLEError>) in
                let adapter = self.adapterInfo
                guard adapter.state != .poweredOn else { return result(outcome) }
                result(outcome.mapError { $0.leavingOff(adapter.name) })
            }
        }
    }
}
