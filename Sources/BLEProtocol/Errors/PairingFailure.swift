/// Why a pairing failed, as far as it is known, for a program to switch on in addition to the error's text.
///
/// On Linux, the radio reports that the peer had a reason, but not which one.
public struct PairingFailure: Hashable, Sendable {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// The peripheral or its user refused: it isn't in its pairing mode, or the numbers differ.
    public static let refusedByPeripheral = PairingFailure("refusedByPeripheral")
    /// The central or its user refused, or it gave up; or it requires a passkey or a comparison that the two devices
    /// can't do, and the adapter refuses that automatically.
    public static let refusedByCentral = PairingFailure("refusedByCentral")
    /// The passkey entered, on this device or on the other, differs from the one shown, or none was entered there.
    public static let wrongPasskey = PairingFailure("wrongPasskey")
    /// This device's user or program refused, or entered nothing.
    public static let refused = PairingFailure("refused")
    /// The value entered here is not a passkey, which has six digits, 0 to 999,999.
    public static let invalidPasskey = PairingFailure("invalidPasskey")
    /// This device's user or program did not answer in time.
    public static let unanswered = PairingFailure("unanswered")
    /// The other device or its user did not continue in time: each step may take 30 s. Linux then ends the link, and
    /// doesn't distinguish that from a link dropped by a program on this machine.
    public static let timedOut = PairingFailure("timedOut")
    /// The other device requires an answer for which the program has no closure: a passkey, or a comparison of numbers.
    public static let needsAnswers = PairingFailure("needsAnswers")
    /// The out-of-band data is another device's, or out of date.
    public static let wrongOutOfBandData = PairingFailure("wrongOutOfBandData")
    /// The other device tried to replace a bond by a weaker one, such as an authenticated bond by an unauthenticated
    /// one, as any device that claims its address could. It can pair again once that bond is removed here.
    public static let wouldWeakenBond = PairingFailure("wouldWeakenBond")
    /// bluetoothd, which is asked about every pairing on this machine, refused; or the capability of its agent was used
    /// instead of that of this program's answers.
    public static let refusedByBluetoothd = PairingFailure("refusedByBluetoothd")
    /// The two devices have paired, and the link is as secure as requested, but the bond could not be written to the
    /// `PeerStore`: it ends with the program, while the other device keeps its keys.
    public static let bondNotKept = PairingFailure("bondNotKept")
}

extension PairingFailure: CustomStringConvertible {
    /// The name, as it is written in source: `wrongPasskey`.
    public var description: String { name }
}
