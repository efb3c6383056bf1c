import BLEProtocol
import BLERadio

extension JoinedRadio {
    /// By the only one that is there; of several it isn't known which is meant.
    func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        let members = present
        if let only = members.first, members.count == 1 { return only.radio.makeOutOfBandData(result: result) }
        let error = BLEError.noOutOfBandData(on: adapterInfo.name)
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }
}
