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

    var capacity: Int {
        switch self {
        case .unbounded: .max
        case .newest(let count), .oldest(let count), .fail(let count): Swift.max(1, count)
        }
    }
}

/// What has happened to the values of one stream, over all its iterations.
public struct StreamCounters: Hashable, Sendable {
    /// Values that arrived.
    public var received = 0
    /// Values that a consumer took.
    public var delivered = 0
    /// Values that were dropped, because the buffer was full or because the consumer had left.
    public var dropped = 0
    /// The largest number of values that waited at once.
    public var highWaterMark = 0

    /// All zero.
    public init() {}
}
