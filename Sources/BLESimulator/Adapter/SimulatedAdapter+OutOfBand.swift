public import BLEProtocol
public import BLERadio

extension SimulatedAdapter {
    /// Makes out-of-band data with which the other device's pairing succeeds and is authenticated; nothing is
    /// encrypted.
    public func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { $0.makeOutOfBandData(on: id) }
        return timeline.schedule(after: .zero) { result(outcome) }
    }
}
