/// What has to be done because of a transition, at once.
///
/// What takes time follows from the state alone, for as long as it lasts: `scanning` listens for advertisements,
/// `connecting` makes a link, `waitingToReconnect` waits for what it says.
package enum SessionEffect: String, Hashable, Sendable, CaseIterable {
    /// Drop the link: subscriptions first, where there is still time.
    case closeLink
    /// Forget what was kept of the peripheral's attributes.
    case dropCache
}
