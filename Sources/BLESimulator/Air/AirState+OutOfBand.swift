internal import BLEProtocol
internal import BLERadio

/// Pairing with data that devices exchange by means other than Bluetooth.
extension AirState {
    mutating func makeOutOfBandData(on adapter: AdapterID) -> Result<OutOfBandData, BLEError> {
        if let error = unavailable(adapter, for: "make out-of-band data") { return .failure(error) }
        let record = adapters[adapter]
        guard record.hiding == nil else { return .failure(.noOutOfBandData(on: record.name)) }
        let (confirmation, random) = (randomKey(), randomKey())
        let data = OutOfBandData(address: record.address, confirmation: confirmation, random: random)
        adapters[adapter].outOfBand = data
        return .success(data)
    }

    private func randomKey() -> SecretKey {
        let octets = [timeline.randomBits(), timeline.randomBits()].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) }
        }
        guard let key = SecretKey(octets: octets) else { preconditionFailure("two halves are sixteen octets") }
        return key
    }

    /// The outcome of a pairing with out-of-band data; `nil` if neither side has any.
    func outOfBandOutcome(_ pairing: SimulatedPairing, of central: AdapterID, with peripheral: AdapterID) -> Bool? {
        let reception = reception(on: peripheral)?.reception.outOfBand
        let toPeripheral = reception.flatMap { $0.address == addressOnAir(of: central) ? $0 : nil }
        let told = [
            pairing.interview.outOfBand.map { ($0, adapters[peripheral].outOfBand) },
            toPeripheral.map { ($0, adapters[central].outOfBand) },
        ].compactMap(\.self)
        guard !told.isEmpty else { return nil }
        return told.allSatisfy { data, own in
            data.confirmation == own?.confirmation && data.random == own?.random
        }
    }
}
