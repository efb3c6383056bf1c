/// What has to be done because of a transition.
public enum SessionEffect: String, Hashable, Sendable, CaseIterable {
    /// Listen for advertisements.
    case startScan
    /// Listen no more.
    case stopScan
    /// Make a link.
    case connect
    /// Give the attempt to make a link up.
    case cancelConnect
    /// Drop the link: subscriptions first, where there is still time.
    case closeLink
    /// Forget what was kept of the peripheral's attributes.
    case dropCache
    /// Wait for what the state says, then resume.
    case wait
}
