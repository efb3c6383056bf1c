import BLEProtocol
import BLERadio

extension JoinedRadio {
    /// Uses the only adapter that is present; with several, it is unknown which one is meant.
    func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        let members = present
        if let only = members.first, members.count == 1 { return only.radio.makeOutOfBandData(result: result) }
        let error = BLEError.noOutOfBandData(on: adapterInfo.name)
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }
}
