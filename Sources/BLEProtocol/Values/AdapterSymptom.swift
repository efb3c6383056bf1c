/// What is seen of an adapter that claims to be on, and doesn't do its work.
public enum AdapterSymptom: Hashable, Sendable {
    /// It scans, and hears nothing, or nothing any more; for how long at least.
    case deaf(Duration)
    /// The controller, or the kernel for it, has not answered a command; its name.
    case unanswered(String)
    /// A scan of the kernel's that ends by itself after some seconds has not ended; after how long it should have.
    case scanWithoutEnd(Duration)
}

extension AdapterSymptom: CustomStringConvertible {
    /// The symptom in words: `hears nothing for 60.0 seconds`.
    public var description: String {
        switch self {
        case .deaf(let time): "hears nothing for \(time)"
        case .unanswered(let command): "does not answer \(command)"
        case .scanWithoutEnd(let time): "does not end its scan, which takes less than \(time)"
        }
    }
}
