/// How long a client waits before it checks a peer that keeps reporting that its services have changed.
///
/// Some devices indicate Service Changed whenever its own descriptor is written, which a client does after a change;
/// others whenever a central connects to them. The first few times the client checks immediately, then less and less
/// often.
package struct ServiceChangeBackoff: Hashable, Sendable {
    /// After this long without a report a peer counts as calm, and the count restarts.
    package static let calm = Duration.seconds(60)

    /// How many times the client checks immediately.
    package static let patience = 3

    /// The first wait, each of the following twice as long, up to the longest.
    package static let shortest = Duration.milliseconds(500)
    package static let longest = Duration.seconds(32)

    /// How often the wait is doubled until it is the longest.
    private static let doublings = 6

    /// How many checks were made, or are due, since the peer was calm.
    package private(set) var count = 0

    /// Whether the last check found no change.
    package private(set) var isHarmless = false

    /// Whether the longest wait is over, and the peer has reported another change since.
    package var areUnending: Bool { count > Self.patience + Self.doublings + 1 }

    package init() {}

    /// The peer reports another change. Returns how long to wait; `nil`: not at all.
    package mutating func delayForNext() -> Duration? {
        count += 1
        guard count > Self.patience else { return nil }
        let doublings = min(count - Self.patience - 1, Self.doublings)
        return min(Self.shortest * (1 << doublings), Self.longest)
    }

    /// A check for changes was made.
    package mutating func looked(hasChanged: Bool) { isHarmless = !hasChanged }
}
