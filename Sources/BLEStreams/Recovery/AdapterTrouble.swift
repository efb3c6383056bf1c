public import BLEProtocol
import BLERadio

/// What a central tells of an adapter that is on and doesn't do its work, and of what is done about it.
public enum AdapterTrouble: Sendable {
    /// Something is wrong.
    case noticed(AdapterSymptom)
    /// A step of the ``RecoveryPlan`` begins; the first one is number 1.
    case trying(RecoveryPlan.Step, number: Int)
    /// A step could not be taken; the next one follows, if there is one.
    case failed(RecoveryPlan.Step, BLEError)
    /// The adapter does its work again; after how many steps.
    case recovered(after: Int)
    /// No step is left: nothing more is done until the adapter is heard of by itself. Where the symptom was that it doesn't
    /// answer, scans fail now.
    case unresolved(AdapterSymptom, after: Int)
    /// The trouble of one of several adapters that are joined, with its name. What is done about it leaves the others alone.
    indirect case ofOne(String, AdapterTrouble)
}

extension AdapterTrouble: CustomStringConvertible {
    /// The trouble in words: `the adapter does not answer Start Discovery`.
    public var description: String {
        switch self {
        case .ofOne(let adapter, let trouble): "\(adapter): \(trouble)"
        case .noticed(let symptom): "the adapter \(symptom)"
        case .trying(.restartScan, let number): "step \(number): the scan begins again"
        case .trying(.powerCycle, let number): "step \(number): the adapter is switched off and on"
        case .trying(.reset, let number): "step \(number): the adapter is reset"
        case .failed(_, let error): "that failed: \(error.cause)" + (error.remedy.isEmpty ? "" : ". \(error.remedy)")
        case .recovered(let count): "the adapter is well again after \(count) \(count == 1 ? "step" : "steps")"
        case .unresolved(let symptom, 0): "the adapter \(symptom), and nothing is done about it"
        case .unresolved(let symptom, let count):
            "the adapter \(symptom), and \(count) \(count == 1 ? "step has" : "steps have") not helped; switch it off and "
                + "on, or unplug it"
        }
    }
}
