public import BLEProtocol

extension PairingQuestion {
    /// An answer to a question of a pairing. Printing, interpolating or dumping it shows no number.
    public enum Answer: Hashable, Sendable {
        /// The numbers are the same.
        case accept
        /// The passkey that the peer shows, 0 to 999,999.
        case passkey(UInt32)
        /// Refuses, with the reason that the pairing then fails with.
        case refuse(PairingFailure)
    }
}

extension PairingQuestion.Answer: CustomStringConvertible, CustomReflectable {
    /// The answer without its number.
    public var description: String {
        switch self {
        case .accept: "yes"
        case .passkey: "a passkey"
        case .refuse(let failure): "no: \(failure)"
        }
    }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
