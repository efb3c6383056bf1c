/// How long a client waits before it looks again at a peer that says again and again that its services have changed.
///
/// Some devices indicate Service Changed whenever its own descriptor is written, which a client does after a change; others
/// whenever anybody connects to them. The first few times it is looked at once, then less and less often.
package struct ServiceChangeBackoff: Hashable, Sendable {
    /// After so long without news a peer counts as calm, and the count starts afresh.
    package static let calm = Duration.seconds(60)

    /// So many times it is looked at once.
    package static let patience = 3

    /// The first wait, each of the following twice as long, up to the longest.
    package static let shortest = Duration.milliseconds(500)
    package static let longest = Duration.seconds(32)

    /// How often it was looked, or will be, since the peer was calm.
    package private(set) var count = 0

    /// Whether nothing had changed the last time.
    package private(set) var isHarmless = false

    package init() {}

    /// The peer says so again: how long to wait; `nil`: not at all.
    package mutating func delayForNext() -> Duration? {
        count += 1
        guard count > Self.patience else { return nil }
        let doublings = min(count - Self.patience - 1, 6)
        return min(Self.shortest * (1 << doublings), Self.longest)
    }

    /// It was looked whether something has changed.
    package mutating func looked(hasChanged: Bool) { isHarmless = !hasChanged }
}
