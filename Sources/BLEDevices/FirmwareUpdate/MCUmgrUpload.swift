import BLEProtocol

/// Which parts of an image go out next, with several requests under way; a value without I/O.
///
/// A device that got no memory, or a part at the wrong place, says with success which octet it wants: the upload goes
/// back there once everything under way is answered. One that is busy, or leaves requests unanswered, is asked with a
/// single request which octet it wants, after a pause.
struct MCUmgrUpload {
    let size: Int
    let window: Int
    /// What the device has.
    private(set) var confirmed = 0
    /// The most that it ever had: only what goes beyond is progress.
    private(set) var farthest = 0
    /// Whether a pause is due before the next request; none is under way then.
    private(set) var needsPause = false
    private var next = 0
    private var underWay: [Request] = []
    /// Where to go on when everything under way is answered.
    private var rewind: Int?
    /// Whether one of the requests under way was refused for now.
    private var wasRefused = false
    /// Whether the next request stands alone: its answer says how much the device has already.
    private var isProbing = true
    /// How often in a row the device went back without having got on.
    private var setbacks = 0

    private struct Request {
        var sequence: UInt8
        /// Behind its last octet; `nil` for one that stands alone, which may be answered with any offset.
        var end: Int?
    }

    /// Why an answer can't be.
    enum Fault: Error, Equatable {
        case missingOffset
        case beyondTheEnd(offset: Int, size: Int)
        case stuck(at: Int)
    }

    /// More setbacks in a row than a device that is well can have.
    private static let patience = 8

    init(size: Int, window: Int) {
        self.size = size
        self.window = max(1, window)
    }

    var isComplete: Bool { confirmed == size && underWay.isEmpty }

    /// Where the next request begins; `nil` while it has to wait for answers or for a pause.
    var nextOffset: Int? {
        guard rewind == nil, !wasRefused, !needsPause, next < size, underWay.count < window else { return nil }
        return isProbing && !underWay.isEmpty ? nil : next
    }

    /// A request was sent, with so many octets.
    mutating func sent(_ sequence: UInt8, count: Int) {
        underWay.append(Request(sequence: sequence, end: isProbing ? nil : next + count))
        next += count
    }

    /// An answer came; whether it belongs to the upload.
    mutating func answered(_ sequence: UInt8, offset: Int?) throws(Fault) -> Bool {
        guard let request = take(sequence) else { return false }
        guard let offset else { throw .missingOffset }
        guard (0...size).contains(offset) else { throw .beyondTheEnd(offset: offset, size: size) }
        guard let end = request.end else {
            (next, isProbing) = (offset, false)
            note(offset)
            return true
        }
        note(offset)
        if offset < end { rewind = offset }
        try settle()
        return true
    }

    /// The device can't take this request now; whether it belongs to the upload.
    mutating func refused(_ sequence: UInt8) throws(Fault) -> Bool {
        guard take(sequence) != nil else { return false }
        wasRefused = true
        try settle()
        return true
    }

    /// What is under way is not answered any more.
    mutating func timedOut() {
        underWay = []
        startOver()
    }

    /// The pause is over.
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

    /// Goes back where that is due, once everything under way is answered.
    private mutating func settle() throws(Fault) {
        guard underWay.isEmpty else { return }
        if wasRefused {
            startOver()
        } else if let place = rewind {
            setbacks += 1
            guard setbacks <= Self.patience else { throw .stuck(at: place) }
            (next, rewind) = (confirmed, nil)
        }
    }

    /// Asks the device, after a pause, which octet it wants.
    private mutating func startOver() {
        (next, rewind) = (confirmed, nil)
        (wasRefused, isProbing, needsPause) = (false, true, true)
    }
}
