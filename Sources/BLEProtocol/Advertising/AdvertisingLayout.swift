/// The placement of an advertisement's fields on air, decided here for every radio.
///
/// Fields that fit into the 31 octets of the advertisement and the 31 of its scan response are divided between them: a
/// field is in the advertisement if possible, earlier ones first, and no division that fits is missed. Otherwise, on a
/// controller with extended advertising, all fields form one piece; a connectable extended advertisement has no scan
/// response. Lists of services of different widths are placed separately.
///
/// Source: Core Specification, Vol 3, Part C, 11; Vol 6, Part B, 2.3.1; Core Specification Supplement, Part A, 1.
package struct AdvertisingLayout: Hashable, Sendable {
    /// What the controller sends.
    package let data: AdvertisingData
    /// The scan response, which only active scanners receive.
    package let scanResponse: AdvertisingData
    /// Whether it fits only into an extended advertisement.
    package let isExtended: Bool
    /// The advertising interval in units of 0.625 ms; `nil`: the radio's default.
    package let interval: ClosedRange<UInt32>?

    /// The advertising intervals that every controller supports (Vol 4, Part E, 7.8.5).
    package static let intervals: ClosedRange<Duration> = .milliseconds(20) ... .milliseconds(10_240)

    /// Divides fields between the advertisement and the scan response.
    ///
    /// - Parameters:
    ///   - fields: what is advertised, the most important first.
    ///   - response: the fields for the scan response, if there is one.
    ///   - interval: the advertising interval.
    ///   - extendedLimit: the largest extended advertisement of the controller in octets; `nil`: it supports none.
    package init(
        _ fields: [AdvertisingData.Field],
        scanResponse response: [AdvertisingData.Field] = [],
        interval: ClosedRange<Duration>? = nil,
        extendedLimit: Int? = nil
    ) throws(AdvertisingFault) {
        if let interval {
            guard Self.intervals.contains(interval.lowerBound), Self.intervals.contains(interval.upperBound) else {
                throw .interval(interval)
            }
        }
        self.interval = interval.map { Self.units($0.lowerBound)...Self.units($0.upperBound) }
        try Self.check(fields, response)
        if let (data, scanResponse) = Self.divided(fields, response) {
            (self.data, self.scanResponse, isExtended) = (data, scanResponse, false)
            return
        }
        guard let extendedLimit, let data = Self.inOnePiece(fields + response, limit: extendedLimit) else {
            throw .overflow(.init(fields, response, extendedLimit: extendedLimit))
        }
        (self.data, scanResponse, isExtended) = (data, AdvertisingData(bytes: []), true)
    }

    /// Whether these fields fit.
    static func fits(_ fields: [AdvertisingData.Field], _ response: [AdvertisingData.Field], _ extendedLimit: Int?)
        -> Bool
    {
        divided(fields, response) != nil
            || extendedLimit.map { inOnePiece(fields + response, limit: $0) != nil } ?? false
    }

    private static func units(_ duration: Duration) -> UInt32 { UInt32(duration / .microseconds(625)) }

    /// Throws if a field occurs twice, or where it must not.
    private static func check(
        _ fields: [AdvertisingData.Field],
        _ response: [AdvertisingData.Field]
    ) throws(AdvertisingFault) {
        for part in [fields, response] {
            var seen: Set<AdvertisingData.FieldType> = []
            for structure in part.flatMap(\.structures) {
                guard let group = structure.type.singleGroup else { continue }
                guard seen.insert(group).inserted else { throw .repeated(structure.type) }
            }
        }
        if response.contains(where: { $0.structures.contains { $0.type == .flags } }) { throw .flagsInScanResponse }
    }

    private static func inOnePiece(_ fields: [AdvertisingData.Field], limit: Int) -> AdvertisingData? {
        let structures = fields.flatMap(\.structures)
        guard structures.allSatisfy({ $0.data.count <= AdvertisingData.Field.Structure.limit }),
            structures.reduce(0, { $0 + $1.octets }) <= limit
        else { return nil }
        return AdvertisingData(structures)
    }
}

// MARK: - The division

extension AdvertisingLayout {
    /// A structure, and where it may be placed.
    private struct Piece {
        let structure: AdvertisingData.Field.Structure
        let mayLead: Bool
        let mayFollow: Bool
    }

    private static func divided(
        _ fields: [AdvertisingData.Field],
        _ response: [AdvertisingData.Field]
    ) -> (AdvertisingData, AdvertisingData)? {
        let bound = response.flatMap(\.structures)
        let taken = Set(bound.compactMap(\.type.singleGroup))
        let pieces =
            fields.flatMap(\.structures).map { structure in
                // A field occurs once in each part; the flags must be in the advertisement.
                let isTaken = structure.type.singleGroup.map(taken.contains) ?? false
                return Piece(structure: structure, mayLead: true, mayFollow: structure.type != .flags && !isTaken)
            } + bound.map { Piece(structure: $0, mayLead: false, mayFollow: true) }
        guard let leads = places(of: pieces) else { return nil }
        let parts = zip(pieces, leads)
        return (
            AdvertisingData(parts.filter { $1 }.map { $0.0.structure }),
            AdvertisingData(parts.filter { !$1 }.map { $0.0.structure })
        )
    }

    /// Whether each structure is in the advertisement; `nil` if there is no division that fits. From the last to the
    /// first, it determines for which number of used octets in the advertisement the rest still fits; then each
    /// structure takes the better place that leaves a way.
    private static func places(of pieces: [Piece]) -> [Bool]? {
        let limit = AdvertisingData.legacyLimit
        let before = pieces.reduce(into: [0]) { sums, piece in sums.append((sums.last ?? 0) + piece.structure.octets) }
        guard let total = before.last, total <= 2 * limit else { return nil }
        /// Whether the rest fits into the scan response.
        func follows(_ index: Int, _ leading: Int) -> Bool { (0...limit).contains(before[index] - leading) }
        var hasWay = Array(repeating: Array(repeating: false, count: limit + 1), count: pieces.count + 1)
        for leading in 0...limit { hasWay[pieces.count][leading] = follows(pieces.count, leading) }
        func canLead(_ index: Int, _ leading: Int) -> Bool {
            let sum = leading + pieces[index].structure.octets
            return pieces[index].mayLead && sum <= limit && hasWay[index + 1][sum]
        }
        for index in pieces.indices.reversed() {
            for leading in 0...limit where follows(index, leading) {
                hasWay[index][leading] =
                    canLead(index, leading) || (pieces[index].mayFollow && hasWay[index + 1][leading])
            }
        }
        guard hasWay[0][0] else { return nil }
        var leading = 0
        return pieces.indices.map { index in
            let leads = canLead(index, leading)
            if leads { leading += pieces[index].structure.octets }
            return leads
        }
    }
}

extension AdvertisingData.Field.Structure {
    /// The most octets of data in one structure: its length is one octet, which counts the type too.
    static let limit = 254

    /// The number of octets on air, with the length and the type.
    var octets: Int { data.count + 2 }
}

extension AdvertisingData.Field {
    /// The number of octets on air.
    var octets: Int { structures.reduce(0) { $0 + $1.octets } }
}

extension AdvertisingData {
    /// Makes the structures, of at most 254 octets of data each, one after another.
    init(_ structures: [AdvertisingData.Field.Structure]) {
        self.init(
            bytes: structures.flatMap { [UInt8(truncatingIfNeeded: $0.data.count + 1), $0.type.rawValue] + $0.data }
        )
    }

    /// Its structures as fields, to send them again.
    package var fields: [AdvertisingData.Field] { map { .raw($0.type, $0.data) } }
}

extension AdvertisingData.FieldType {
    /// The type that represents all types with the same meaning, for one that may occur only once in an advertisement
    /// or a scan response; `nil` for one that may be repeated (Core Specification Supplement, Part A, 1).
    fileprivate var singleGroup: AdvertisingData.FieldType? {
        switch self {
        case .incompleteServices16, .completeServices16: .completeServices16
        case .incompleteServices32, .completeServices32: .completeServices32
        case .incompleteServices128, .completeServices128: .completeServices128
        case .shortenedLocalName, .completeLocalName: .completeLocalName
        case .advertisingInterval, .advertisingIntervalLong: .advertisingInterval
        case .flags, .txPower, .appearance, .role, .connectionIntervalRange, .supportedFeatures, .publicTargetAddress,
            .randomTargetAddress:
            self
        default: nil
        }
    }
}
