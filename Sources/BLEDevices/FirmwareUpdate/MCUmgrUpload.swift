/// Decides which parts of an image to send next, with several requests in flight; a value without I/O.
///
/// A device that is out of memory, or received a part at the wrong offset, reports success with the octet it expects:
/// the upload returns there once all requests in flight are answered. If the device is busy or does not answer, a
/// single request after a pause finds out which octet it expects. One that has the whole image expects the first octet
/// of another upload, and answers the first part of this one, sent alone, with the end: what was in flight behind that
/// part would be answered with the first octet again.
struct MCUmgrUpload {
    let size: Int
    let window: Int
    /// How many octets the device has.
    private(set) var confirmed = 0
    /// The most octets it ever had: only more is progress.
    private(set) var farthest = 0
    /// Whether a pause is due before the next request; none is in flight then.
    private(set) var needsPause = false
    private var next = 0
    /// The most octets that were sent.
    private var farthestSent = 0
    private var underWay: [Request] = []
    /// Where to continue when all requests in flight are answered.
    private var rewind: Int?
    /// Whether one of the requests in flight was refused temporarily.
    private var wasRefused = false
    /// Whether the next request is sent alone: its answer says how much the device already has.
    private var isProbing = true
    /// How often in a row the device went back without progress.
    private var setbacks = 0

    private struct Request {
        var sequence: UInt8
        /// The offset after its last octet; `nil` for one sent alone, which may be answered with any offset.
        var end: Int?
    }

    /// Why an answer is impossible.
    enum Fault: Error, Equatable {
        case missingOffset
        case beyondTheEnd(offset: Int, size: Int)
        case stuck(at: Int)
    }

    /// More setbacks in a row than a working device can have.
    private static let patience = 8

    init(size: Int, window: Int) {
        self.size = size
        self.window = max(1, window)
    }

    var isComplete: Bool { confirmed == size && underWay.isEmpty }

    /// Whether the device has octets that an earlier link has brought.
    var isResumed: Bool { confirmed > farthestSent }

    /// Where the next request begins; `nil` while it must wait for answers or a pause.
    var nextOffset: Int? {
        guard rewind == nil, !wasRefused, !needsPause, next < size, underWay.count < window else { return nil }
        return isProbing && !underWay.isEmpty ? nil : next
    }

    /// Whether a request with this number waits for its answer.
    func isUnderWay(_ sequence: UInt8) -> Bool { underWay.contains { $0.sequence == sequence } }

    /// Records a sent request with this many octets.
    mutating func sent(_ sequence: UInt8, count: Int) {
        underWay.append(Request(sequence: sequence, end: isProbing ? nil : next + count))
        next += count
        farthestSent = max(farthestSent, next)
    }

    /// Handles an answer; returns whether it belongs to the upload.
    mutating func answered(_ sequence: UInt8, offset: Int?) throws(Fault) -> Bool {
        guard let request = take(sequence) else { return false }
        guard let offset else { throw .missingOffset }
        guard (0...size).contains(offset) else { throw .beyondTheEnd(offset: offset, size: size) }
        guard let end = request.end else {
            (next, isProbing) = (offset, offset == 0 && confirmed > 0)
            note(offset)
            return true
        }
        note(offset)
        if offset < end { rewind = offset }
        try settle()
        return true
    }

    /// Handles a temporary refusal; returns whether the request belongs to the upload.
    mutating func refused(_ sequence: UInt8) throws(Fault) -> Bool {
        guard take(sequence) != nil else { return false }
        wasRefused = true
        try settle()
        return true
    }

    /// Records that the requests in flight will not be answered.
    mutating func timedOut() {
        underWay = []
        startOver()
    }

    /// Ends the pause.
    mutating func paused() { needsPause = false }

    private mutating func take(_ sequence: UInt8) -> Request? {
        guard let index = underWay.firstIndex(where: { $0.sequence == sequence }) else { return nil }
        return underWay.remove(at: index)
    }

    private mutating func note(_ offset: Int) {
        confirmed = offset
        guard offset > farthest else { return }
        (farthest, setbacks) = (offset, 0)
    }

    /// Goes back if necessary, once all requests in flight are answered.
    private mutating func settle() throws(Fault) {
        guard underWay.isEmpty else { return }
        if wasRefused {
            startOver()
        } else if let place = rewind {
            setbacks += 1
            guard setbacks <= Self.patience else { throw .stuck(at: place) }
            (next, rewind, isProbing) = (confirmed, nil, confirmed == 0)
        }
    }

    /// Asks the device, after a pause, which octet it expects.
    private mutating func startOver() {
        (next, rewind) = (confirmed, nil)
        (wasRefused, isProbing, needsPause) = (false, true, true)
    }
}
