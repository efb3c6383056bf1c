/// What a stream does with values that arrive faster than its consumer takes them.
///
/// Dropped values are counted: see ``StreamCounters``.
public enum BufferPolicy: Hashable, Sendable {
    /// Keeps everything, limited only by memory. For transfers that end.
    case unbounded
    /// Keeps the newest `n` values (at least 1) and drops older ones. For sensors, where the latest value matters.
    case newest(Int)
    /// Keeps the oldest `n` values (at least 1) and drops newer ones while the buffer is full.
    case oldest(Int)
    /// Keeps `n` values (at least 1); one more ends the stream with ``BLEError/Code/overflow``, after the values kept.
    case fail(Int)

    /// The default of all value streams: if a consumer falls more than 65,536 values behind, the stream fails.
    ///
    /// So memory is bounded, and no value is lost silently.
    public static let standard = BufferPolicy.fail(65_536)

    /// The largest number of values that wait at once.
    var capacity: Int {
        switch self {
        case .unbounded: Self.most
        case .newest(let count), .oldest(let count), .fail(let count): min(Swift.max(1, count), Self.most)
        }
    }

    /// The largest number that a buffer can count.
    private static let most = Int(Int32.max)

    /// Whether the stream fails with the first value for which there is no room.
    var fails: Bool {
        if case .fail = self { true } else { false }
    }

    /// Whether a waiting value will be delivered, whatever arrives later.
    var keepsWhatItHas: Bool {
        if case .newest = self { false } else { true }
    }
}
