public import BLEProtocol

/// One PDU and when it was received.
public struct ReceivedPDU: Hashable, Sendable {
    /// The PDU's octets, opcode first. PDUs that came together may be parts of one array.
    public var bytes: ArraySlice<UInt8>

    /// When it was received.
    public var time: ReceptionTime

    /// Wraps a PDU that is part of an array.
    @inlinable
    public init(bytes: ArraySlice<UInt8>, time: ReceptionTime) {
        self.bytes = bytes
        self.time = time
    }

    /// Wraps a PDU that has its own array.
    public init(bytes: [UInt8], time: ReceptionTime) { self.init(bytes: bytes[...], time: time) }
}

/// PDUs that arrived together, in order. A radio leaves out empty frames, which are not PDUs.
///
/// It stores the PDUs' positions in the arrays they came in, without reference counting for each: inspecting all of
/// them costs a receiver less than one slice.
public struct ReceivedPDUs: Sendable {
    /// Where a PDU is stored, and when it was received.
    @usableFromInline
    struct Place: Sendable {
        /// 0 for ``first``, then the number in ``others`` plus one.
        @usableFromInline let array: Int
        @usableFromInline let start: Int
        @usableFromInline let end: Int
        @usableFromInline let time: ReceptionTime

        @inlinable
        init(array: Int, start: Int, end: Int, time: ReceptionTime) {
            self.array = array
            self.start = start
            self.end = end
            self.time = time
        }
    }

    // The first array and place are stored separately: mostly there is only one, and no list is needed.
    @usableFromInline var first: [UInt8] = []
    @usableFromInline var others: [[UInt8]] = []
    @usableFromInline var firstPlace: Place?
    @usableFromInline var otherPlaces: [Place] = []

    /// Makes an empty collection.
    public init() {}

    /// Collects the PDUs of a sequence.
    public init(_ pdus: some Sequence<ReceivedPDU>) { for pdu in pdus { append(Array(pdu.bytes), time: pdu.time) } }

    /// Wraps one PDU.
    public init(_ pdu: [UInt8], time: ReceptionTime) { append(pdu, time: time) }

    /// Reserves room for this many PDUs.
    public mutating func reserveCapacity(_ count: Int) { if count > 1 { otherPlaces.reserveCapacity(count - 1) } }

    /// Adds a PDU that has its own array.
    public mutating func append(_ pdu: [UInt8], time: ReceptionTime) {
        let array = add(pdu)
        append(pdu.indices, ofArray: array, time: time)
    }

    /// Adds an array that contains PDUs; append them with ``append(_:ofArray:time:)``.
    ///
    /// - Returns: the number of the array here.
    public mutating func add(_ array: [UInt8]) -> Int {
        if first.isEmpty, others.isEmpty {
            first = array
            return 0
        }
        others.append(array)
        return others.count
    }

    /// Adds a PDU that is part of an array.
    ///
    /// - Parameters:
    ///   - range: its position within the array.
    ///   - array: the number that ``add(_:)`` returned.
    @inlinable
    public mutating func append(_ range: Range<Int>, ofArray array: Int, time: ReceptionTime) {
        let place = Place(array: array, start: range.lowerBound, end: range.upperBound, time: time)
        if firstPlace == nil { firstPlace = place } else { otherPlaces.append(place) }
    }
}

extension ReceivedPDUs: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { firstPlace == nil ? 0 : 1 + otherPlaces.count }

    @inlinable
    func place(of index: Int) -> Place {
        if index == 0, let firstPlace { return firstPlace }
        return otherPlaces[index - 1]
    }

    @inlinable
    public subscript(index: Int) -> ReceivedPDU { ReceivedPDU(bytes: octets(of: index), time: time(of: index)) }

    /// When a PDU was received.
    @inlinable
    public func time(of index: Int) -> ReceptionTime { place(of: index).time }

    /// The octets of a PDU from an offset on; empty if the offset is beyond the end.
    @inlinable
    public func octets(of index: Int, from offset: Int = 0) -> ArraySlice<UInt8> {
        let place = place(of: index)
        let range = Swift.min(place.start + offset, place.end)..<place.end
        return place.array == 0 ? first[range] : others[place.array - 1][range]
    }

    /// The first three octets of a PDU, which suffice to dispatch nearly all kinds of PDU; `nil` for an octet beyond
    /// its end.
    @inlinable
    public func head(of index: Int) -> (UInt8?, UInt8?, UInt8?) {
        let place = place(of: index)
        return place.array == 0 ? Self.head(of: place, in: first) : Self.head(of: place, in: others[place.array - 1])
    }

    @inlinable
    static func head(of place: Place, in array: [UInt8]) -> (UInt8?, UInt8?, UInt8?) {
        let (start, count) = (place.start, place.end - place.start)
        return (
            count > 0 ? array[start] : nil, count > 1 ? array[start + 1] : nil, count > 2 ? array[start + 2] : nil
        )
    }
}
