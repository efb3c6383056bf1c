/// An immediate effect of a transition.
///
/// Longer work follows from the state alone, while it lasts: `scanning` listens for advertisements, `connecting` makes
/// a link, `waitingToReconnect` waits as it says.
package enum SessionEffect: String, Hashable, Sendable, CaseIterable {
    /// Drop the link, after its subscriptions if there is still time.
    case closeLink
    /// Forget the remembered attributes of the peripheral.
    case dropCache
}
