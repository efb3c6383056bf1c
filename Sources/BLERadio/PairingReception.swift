public import BLEProtocol

/// How a peripheral receives centrals that pair with it: what a radio is given to answer their pairings.
public struct PairingReception: Sendable {
    /// What the device claims to be able to do; ``PairingCapability/noInputNoOutput`` where it refuses.
    public let capability: PairingCapability

    /// Makes who answers what the pairing with one central asks, by the address of its link; `nil`: every pairing is refused.
    public let interview: (@Sendable (BluetoothAddress) -> PairingInterview)?

    /// What a central has told by other means than Bluetooth, and who that is: its ``OutOfBandData/address`` says so.
    public let outOfBand: OutOfBandData?

    /// Receives centrals.
    ///
    /// - Parameters:
    ///   - capability: what the device claims to be able to do.
    ///   - outOfBand: what a central has told by other means than Bluetooth.
    ///   - interview: makes who answers what the pairing with one central asks. It is called on the radio's context, and
    ///     must not block. What it has made is asked nothing after the event that ends that pairing.
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

/// What becomes of the pairings that centrals begin.
public enum PairingReceptionEvent: Sendable {
    /// They are answered from now on; told again after another program has come between.
    case started
    /// The central whose link has this address has paired; with the keys that are worth keeping, `nil` where it does not
    /// bond.
    case paired(BluetoothAddress, Bond?)
    /// The pairing with the central whose link has this address has failed; the link may go on.
    case failed(BluetoothAddress, BLEError)
    /// They are not answered any more, or never were; no further event comes.
    case ended(BLEError)
}
