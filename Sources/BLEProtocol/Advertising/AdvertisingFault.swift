/// Why fields can't form an advertisement.
package enum AdvertisingFault: Error, Hashable, Sendable {
    /// The fields don't fit.
    case overflow(Overflow)
    /// A field that may occur only once occurs twice.
    case repeated(AdvertisingData.FieldType)
    /// The flags are declared for the scan response, where they have no meaning.
    case flagsInScanResponse
    /// No controller supports this interval.
    case interval(ClosedRange<Duration>)

    /// The fields that are too long together, and what would help.
    package struct Overflow: Hashable, Sendable {
        /// The octets of each field, in the order of the declaration.
        package let fields: [Field]
        /// The largest extended advertisement of the controller in octets; `nil`: it supports none.
        package let extendedLimit: Int?
        /// The fields of which leaving out any one is enough; if there is none, the fields to leave out together.
        package let relief: [Relief]
        /// Whether all of ``relief`` must be left out.
        package let needsAll: Bool

        package struct Field: Hashable, Sendable {
            package let name: String
            package let octets: Int
        }

        package struct Relief: Hashable, Sendable {
            package let name: String
            /// The number of octets by which it can be shortened instead; `nil`: it can't.
            package let shortening: Int?
        }

        /// The total number of octets.
        package var octets: Int { fields.reduce(0) { $0 + $1.octets } }
    }
}

extension AdvertisingFault.Overflow {
    init(_ fields: [AdvertisingData.Field], _ response: [AdvertisingData.Field], extendedLimit: Int?) {
        let all = fields + response
        self.fields = all.map { Field(name: $0.name, octets: $0.octets) }
        self.extendedLimit = extendedLimit
        /// Whether the rest fits without the fields at some places, and with another field at one place.
        func fits(without gone: Set<Int>, _ place: Int? = nil, _ other: AdvertisingData.Field? = nil) -> Bool {
            let kept = all.indices.filter { !gone.contains($0) }
            let field = { (index: Int) in index == place ? other ?? all[index] : all[index] }
            return AdvertisingLayout.fits(
                kept.filter { $0 < fields.count }.map(field),
                kept.filter { $0 >= fields.count }.map(field),
                extendedLimit
            )
        }
        let dispensable = all.indices.filter { all[$0].isDispensable }
        let single = dispensable.filter { fits(without: [$0]) }
        needsAll = single.isEmpty
        if single.isEmpty {
            var gone: Set<Int> = []
            // The largest first, so that the fewest are left out.
            for place in dispensable.sorted(by: { all[$0].octets > all[$1].octets }) where !fits(without: gone) {
                gone.insert(place)
            }
            relief = gone.sorted().map { Relief(name: all[$0].name, shortening: nil) }
        } else {
            relief = single.map { place in
                let field = all[place]
                let shortening = (1..<max(1, field.spare)).first { fits(without: [], place, field.shortened(by: $0)) }
                return Relief(name: field.name, shortening: shortening)
            }
        }
    }
}

extension AdvertisingData.Field {
    /// Whether a program can leave it out. A peripheral to which centrals may connect has the flags in any case; they
    /// take three octets, so that something else can always go instead.
    fileprivate var isDispensable: Bool { !isFlags || octets > 3 }

    /// How many of its octets the program chooses: a name, data.
    fileprivate var spare: Int {
        guard let only = structures.first, structures.count == 1 else { return 0 }
        switch only.type {
        case .completeLocalName, .shortenedLocalName, .uri: return only.data.count
        case .manufacturerData: return only.data.count - 2
        default: return only.type.serviceDataWidth.map { only.data.count - $0 } ?? 0
        }
    }

    fileprivate func shortened(by count: Int) -> AdvertisingData.Field {
        .raw(structures[0].type, structures[0].data.dropLast(count))
    }
}

extension AdvertisingFault {
    /// The error for a program that advertises on an adapter.
    package func error(on adapter: String) -> BLEError {
        switch self {
        case .overflow(let overflow): overflow.error(on: adapter)
        case .repeated(let type):
            BLEError(
                .invalidArgument,
                operation: "advertise",
                object: adapter,
                cause: "the advertisement has the field \(type) twice",
                remedy: "Combine them in one field."
            )
        case .flagsInScanResponse:
            BLEError(
                .invalidArgument,
                operation: "advertise",
                object: adapter,
                cause: "flags belong in the advertisement, not in the scan response",
                remedy: "Declare them among the fields of the advertisement."
            )
        case .interval(let interval):
            BLEError(
                .invalidArgument,
                operation: "advertise",
                object: adapter,
                cause: "an advertising interval is \(AdvertisingLayout.intervals.lowerBound) to "
                    + "\(AdvertisingLayout.intervals.upperBound), and this one is \(interval.lowerBound) to "
                    + "\(interval.upperBound)",
                remedy: "Choose an interval in that range."
            )
        }
    }
}

extension AdvertisingFault.Overflow {
    fileprivate func error(on adapter: String) -> BLEError {
        let legacy = AdvertisingData.legacyLimit
        let list = fields.map { "\($0.name) \($0.octets)" }.joined(separator: ", ")
        let room =
            extendedLimit.map { "\(adapter) takes \($0) octets in one advertisement" }
            ?? "\(adapter) takes \(legacy) octets in the advertisement and \(legacy) octets in its scan response: its "
            + "controller has no extended advertising, which came with Bluetooth 5"
        let ways = relief.map { relief in
            relief.name + (relief.shortening.map { ", or shorten it by \($0) octets" } ?? "")
                + (relief.name == "services" ? " (`LocalPeripheral.advertisedServices` selects them)" : "")
        }
        let remedy =
            needsAll
            ? "Leave out \(ways.joined(separator: " and "))"
            : "Leave out \(ways.joined(separator: "; or leave out "))"
        return BLEError(
            .overflow,
            operation: "advertise",
            object: adapter,
            cause: "the fields have \(octets) octets (\(list)), and \(room)",
            remedy: remedy + (extendedLimit == nil ? "; or use an adapter with Bluetooth 5." : ".")
        )
    }
}
