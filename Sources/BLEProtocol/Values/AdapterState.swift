/// Whether an adapter can be used, and why not.
public enum AdapterState: String, Hashable, Sendable, CaseIterable {
    /// There is no such adapter; it may yet be plugged in.
    case absent
    /// It is there, and switched off.
    case poweredOff
    /// A switch on the machine or rfkill blocks it.
    case blocked
    /// It is ready.
    case poweredOn
}
