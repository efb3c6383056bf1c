internal import BLERadio

/// What a simulated peripheral does when a central pairs with it. With more than Just Works, it refuses a central that
/// lacks the capability.
public enum PairingManner: Hashable, Sendable {
    /// Just Works, unless the program that runs the peripheral answers.
    case justWorks
    /// It shows a passkey, 0 to 999,999, like one printed on the device; the central must enter it.
    case showsPasskey(UInt32)
    /// Its user types the passkey that the central shows, a digit each half second, correctly or not.
    case entersPasskey(correctly: Bool = true)
    /// It shows a number, and its user says whether the central shows the same.
    case comparesNumbers(agrees: Bool = true)

    var capability: PairingCapability {
        switch self {
        case .justWorks: .noInputNoOutput
        case .showsPasskey: .displayOnly
        case .entersPasskey: .keyboardOnly
        case .comparesNumbers: .displayYesNo
        }
    }

    /// The pairing method that it requires.
    var method: PairingMethod? {
        switch self {
        case .justWorks: nil
        case .showsPasskey: .initiatorEnters
        case .entersPasskey: .responderEnters
        case .comparesNumbers: .comparison
        }
    }
}

extension PairingManner: CustomStringConvertible, CustomReflectable {
    /// The manner, without the passkey.
    public var description: String {
        switch self {
        case .justWorks: "just works"
        case .showsPasskey: "shows a passkey"
        case .entersPasskey(let correctly): "enters \(correctly ? "the" : "a wrong") passkey"
        case .comparesNumbers(let agrees): "compares numbers, and \(agrees ? "agrees" : "refuses")"
        }
    }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
