package import BLEProtocol

extension Radio {
    /// Switches the adapter off and on, each once the one before is done; goes on to its end, whoever waits for it: nobody is
    /// left with an adapter that is off.
    ///
    /// - Parameter result: is called once, perhaps before this returns.
    package func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        unattended { answer in
            setPowered(false, result: answer)
        } answer: { (outcome: Result<Void, BLEError>) in
            guard case .success = outcome else { return result(outcome) }
            unattended({ self.setPowered(true, result: $0) }, answer: result)
        }
    }
}
