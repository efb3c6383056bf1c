public import BLEProtocol

/// A report on an adapter that is on but doesn't work, or on its recovery.
public enum AdapterTrouble: Sendable {
    /// A symptom was noticed.
    case noticed(AdapterInfo.Symptom)
    /// A step of the ``RecoveryPlan`` begins; the first one is number 1.
    case trying(RecoveryPlan.Step, number: Int)
    /// A step could not be taken; the next one follows, if there is one.
    case failed(RecoveryPlan.Step, BLEError)
    /// The adapter works again; the value is the number of steps taken.
    case recovered(after: Int)
    /// No step is left: nothing more is done until the adapter works again by itself. If the symptom was a missing
    /// answer, scans fail now.
    case unresolved(AdapterInfo.Symptom, after: Int)
    /// The trouble of one of several joined adapters, with its name. Its recovery doesn't affect the others.
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
        case .recovered(let count): "the adapter works again after \(count) \(count == 1 ? "step" : "steps")"
        case .unresolved(let symptom, 0): "the adapter \(symptom), and the recovery plan has no step for it"
        case .unresolved(let symptom, let count):
            "the adapter \(symptom), and \(count) \(count == 1 ? "step has" : "steps have") not helped; switch it off "
                + "and on, or unplug it"
        }
    }
}
