/// What a stream does with values that arrive faster than its consumer takes them.
///
/// Whatever is dropped is counted: see ``StreamCounters``.
public enum BufferPolicy: Hashable, Sendable {
    /// Keeps everything; memory is the limit. For transfers that end.
    case unbounded
    /// Keeps the newest `n` values (at least 1) and drops older ones. For sensors: the present matters.
    case newest(Int)
    /// Keeps the oldest `n` values (at least 1) and drops what comes while the buffer is full.
    case oldest(Int)
    /// Keeps `n` values (at least 1); one more ends the stream with ``BLEError/Code/overflow``, after those kept.
    case fail(Int)

    /// The default of all value streams: a consumer may lag 65,536 values behind, then the stream fails and says so.
    ///
    /// So memory is bounded, and nothing is ever lost in silence.
    public static let standard = BufferPolicy.fail(65_536)

    /// The largest number of values that wait at once.
    var capacity: Int {
        switch self {
        case .unbounded: Self.most
        case .newest(let count), .oldest(let count), .fail(let count): min(Swift.max(1, count), Self.most)
        }
    }

    /// What a buffer can count.
    private static let most = Int(Int32.max)

    /// Whether a value that waits will be delivered, whatever comes later.
    var keepsWhatItHas: Bool {
        if case .newest = self { false } else { true }
    }
}
