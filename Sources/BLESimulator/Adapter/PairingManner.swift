internal import BLERadio

/// What a simulated peripheral does when a central pairs with it. One that wants more than Just Works refuses a central that
/// can't do its part.
public enum PairingManner: Hashable, Sendable {
    /// It asks nobody: Just Works; unless the program that runs the peripheral answers.
    case justWorks
    /// It shows a passkey, 0 to 999,999, as one that is printed on the device; the central must enter it.
    case showsPasskey(UInt32)
    /// Somebody types the passkey that the central shows, a digit each half second; correctly or not.
    case entersPasskey(correctly: Bool = true)
    /// It shows a number, and somebody says whether the central shows the same.
    case comparesNumbers(agrees: Bool = true)

    var capability: PairingCapability {
        switch self {
        case .justWorks: .noInputNoOutput
        case .showsPasskey: .displayOnly
        case .entersPasskey: .keyboardOnly
        case .comparesNumbers: .displayYesNo
        }
    }

    /// What it insists on.
    var method: PairingMethod? {
        switch self {
        case .justWorks: nil
        case .showsPasskey: .initiatorEnters
        case .entersPasskey: .responderEnters
        case .comparesNumbers: .comparison
        }
    }
}

extension PairingManner: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What it does, without the passkey.
    public var description: String {
        switch self {
        case .justWorks: "just works"
        case .showsPasskey: "shows a passkey"
        case .entersPasskey(let correctly): "enters \(correctly ? "the" : "a wrong") passkey"
        case .comparesNumbers(let agrees): "compares numbers, and \(agrees ? "agrees" : "refuses")"
        }
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
