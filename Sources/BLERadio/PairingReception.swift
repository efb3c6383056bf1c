public import BLEProtocol

/// How a peripheral answers centrals that pair with it; passed to the radio.
public struct PairingReception: Sendable {
    /// The capability that the device claims; ``PairingCapability/noInputNoOutput`` if it refuses pairings.
    public let capability: PairingCapability

    /// Makes the interview for the pairing with one central, by the address of its link; `nil`: every pairing is
    /// refused.
    public let interview: (@Sendable (BluetoothAddress) -> PairingInterview)?

    /// The out-of-band data of a central, which its ``OutOfBandData/address`` identifies.
    public let outOfBand: OutOfBandData?

    /// Receives centrals.
    ///
    /// - Parameters:
    ///   - capability: the capability that the device claims.
    ///   - outOfBand: the out-of-band data of a central.
    ///   - interview: makes the interview for the pairing with one central. Called on the radio's context, and must not
    ///     block. The interview is asked nothing after the event that ends its pairing.
    public init(
        _ capability: PairingCapability,
        outOfBand: OutOfBandData? = nil,
        interview: @escaping @Sendable (BluetoothAddress) -> PairingInterview
    ) {
        self.capability = capability
        self.outOfBand = outOfBand
        self.interview = interview
    }

    private init() {
        capability = .noInputNoOutput
        outOfBand = nil
        interview = nil
    }

    /// Refuses every pairing.
    public static let refused = PairingReception()
}

/// The course of pairings that centrals begin.
public enum PairingReceptionEvent: Sendable {
    /// Pairings are answered from now on; repeated after another program has interfered.
    case started
    /// The central whose link has this address has paired; with the keys to keep, or `nil` if it does not bond.
    case paired(BluetoothAddress, Bond?)
    /// The pairing with the central whose link has this address has failed; the link may go on.
    case failed(BluetoothAddress, BLEError)
    /// Pairings are no longer answered, or never were; no further event comes.
    case ended(BLEError)
}
