import BLEProtocol

/// Which parts of an image go out next, with several requests under way; a value without I/O.
///
/// A device that got no memory, or a part at the wrong place, says with success which octet it wants: the upload goes
/// back there once everything under way is answered.
struct MCUmgrUpload {
    let size: Int
    let window: Int
    /// What the device has.
    private(set) var confirmed = 0
    private var next = 0
    private var underWay: [(sequence: UInt8, end: Int)] = []
    /// Where to go on when everything under way is answered.
    private var rewind: Int?
    /// How often in a row the device went back without having got on.
    private var setbacks = 0

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

    /// Whether answers are due.
    var isWaiting: Bool { !underWay.isEmpty }

    /// Where the next request begins; `nil` while it has to wait for answers.
    ///
    /// The first one stands alone: its answer says how much the device has already.
    var nextOffset: Int? {
        guard rewind == nil, next < size, underWay.count < window else { return nil }
        return underWay.contains { $0.end == 0 } ? nil : next
    }

    /// A request was sent, with so many octets; the first one of an upload may be answered with any offset.
    mutating func sent(_ sequence: UInt8, count: Int, isFirst: Bool) {
        underWay.append((sequence, isFirst ? 0 : next + count))
        next += count
    }

    /// An answer came; whether it belongs to the upload.
    mutating func answered(_ sequence: UInt8, offset: Int?) throws(Fault) -> Bool {
        guard let index = underWay.firstIndex(where: { $0.sequence == sequence }) else { return false }
        let request = underWay.remove(at: index)
        guard let offset else { throw .missingOffset }
        guard (0...size).contains(offset) else { throw .beyondTheEnd(offset: offset, size: size) }
        if request.end == 0 {
            (confirmed, next) = (offset, offset)
            return true
        }
        if offset > confirmed { setbacks = 0 }
        confirmed = offset
        if offset < request.end { rewind = offset }
        if underWay.isEmpty, let place = rewind {
            setbacks += 1
            guard setbacks <= Self.patience else { throw .stuck(at: place) }
            (next, rewind) = (confirmed, nil)
        }
        return true
    }
}
