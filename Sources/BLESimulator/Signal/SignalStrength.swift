internal import CLibrary

/// The signal strength between two adapters.
public struct SignalStrength: Hashable, Sendable {
    /// The received level in dBm; `nil` if the radio can't measure it.
    public var level: Int?

    /// The largest deviation of a single measurement, in dB, either way.
    public var jitter: Int

    /// Whether anything is received at all.
    public var isInRange: Bool

    private init(level: Int?, jitter: Int, isInRange: Bool) {
        self.level = level
        self.jitter = jitter
        self.isInRange = isInRange
    }

    /// A level in dBm, -127 to 20, each measurement with a random deviation of up to `jitter` dB.
    public static func dBm(_ level: Int, jitter: Int = 0) -> SignalStrength {
        SignalStrength(level: min(max(level, -127), 20), jitter: max(jitter, 0), isInRange: true)
    }

    /// The level at a distance in free space, where one metre gives -59 dBm.
    public static func metres(_ distance: Double, jitter: Int = 0) -> SignalStrength {
        let loss = 20 * log10(min(max(distance, 0.01), 100_000))
        return .dBm(Int((-59 - loss).rounded()), jitter: jitter)
    }

    /// In range of a radio that can't measure the level.
    public static let unknown = SignalStrength(level: nil, jitter: 0, isInRange: true)

    /// Out of range: no reports, no connections, and links end with the supervision timeout.
    public static let outOfRange = SignalStrength(level: nil, jitter: 0, isInRange: false)

    /// One measurement, as a radio reports it.
    func measurement(randomBits: () -> UInt64) -> Int8? {
        guard isInRange, let level else { return nil }
        guard jitter > 0 else { return Int8(clamping: level) }
        let offset = Int(randomBits() % UInt64(2 * jitter + 1)) - jitter
        return Int8(clamping: min(max(level + offset, -127), 20))
    }
}
