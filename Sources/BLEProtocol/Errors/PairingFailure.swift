/// Why a pairing has failed, as far as that is known: what a program switches on beside the error's words.
///
/// The radio of Linux tells no more of the peer's own reason than that there was one.
public struct PairingFailure: Hashable, Sendable {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// The peripheral refused, or somebody there did: it isn't in its pairing mode, or the numbers differ.
    public static let refusedByPeripheral = PairingFailure("refusedByPeripheral")
    /// The central refused, or somebody there did, or it gave up; or it insists on a passkey or a comparison that the two
    /// devices can't have, and the adapter refuses that by itself.
    public static let refusedByCentral = PairingFailure("refusedByCentral")
    /// The passkey that was entered, on this device or on the other, is not the one that is shown, or none was entered there.
    public static let wrongPasskey = PairingFailure("wrongPasskey")
    /// Whoever was asked here said no, or entered nothing.
    public static let refused = PairingFailure("refused")
    /// What was entered here is no passkey: that has six digits, 0 to 999,999.
    public static let invalidPasskey = PairingFailure("invalidPasskey")
    /// Whoever was asked here did not answer in time.
    public static let unanswered = PairingFailure("unanswered")
    /// The other device, or whoever was asked there, did not go on in time: each step may take 30 s. Linux ends the link then,
    /// and doesn't tell that from a link which a program on this machine has dropped meanwhile.
    public static let timedOut = PairingFailure("timedOut")
    /// The other device wants something that the program gave nobody to answer: a passkey, or numbers compared.
    public static let needsAnswers = PairingFailure("needsAnswers")
    /// What the other device has told out of band isn't its own, or not any more.
    public static let wrongOutOfBandData = PairingFailure("wrongOutOfBandData")
    /// The other device wanted to replace a bond by a weaker one, such as one that somebody made sure of by one that nobody
    /// did: anybody who claims its address could. It may again once that bond is removed here.
    public static let wouldWeakenBond = PairingFailure("wouldWeakenBond")
    /// bluetoothd, which is asked about every pairing on this machine, said no, or what its agent can do counted and not what
    /// this program's answers can.
    public static let refusedByBluetoothd = PairingFailure("refusedByBluetoothd")
    /// The two devices have paired, and the link is as secure as it was to be; but the bond could not be written to the
    /// `PeerStore`: it ends with the program, while the other device keeps its part.
    public static let bondNotKept = PairingFailure("bondNotKept")
}

extension PairingFailure: CustomStringConvertible {
    /// The name, as it is written in source: `wrongPasskey`.
    public var description: String { name }
}
