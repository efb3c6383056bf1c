extension AdapterInfo {
    /// A symptom of an adapter that reports that it is on but doesn't work.
    public enum Symptom: Hashable, Sendable {
        /// It scans but receives nothing, or has stopped receiving; the value is the minimum duration so far.
        case deaf(Duration)
        /// The controller, or the kernel on its behalf, has not answered a command; the value is the command's name.
        case unanswered(String)
        /// A kernel scan that ends by itself after some seconds has not ended; the value is the time within which it
        /// should have.
        case scanWithoutEnd(Duration)
        /// The kernel keeps an attempt of this program to connect to this device that was given up, and may connect to
        /// no other device while it does.
        case keepsAttempt(BluetoothAddress)
    }
}

extension AdapterInfo.Symptom: CustomStringConvertible {
    /// The symptom in words: `hears nothing for 60.0 seconds`.
    public var description: String {
        switch self {
        case .deaf(let time): "hears nothing for \(time)"
        case .unanswered(let command): "does not answer \(command)"
        case .scanWithoutEnd(let time): "does not end its scan, which should take less than \(time)"
        case .keepsAttempt(let peer):
            "keeps an attempt to connect to \(peer) that was given up, and may connect to no device"
        }
    }
}
