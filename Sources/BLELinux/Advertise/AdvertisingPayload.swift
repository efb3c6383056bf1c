internal import BLEProtocol
internal import BLERadio

/// What an advertising instance is given: the octets, and how they go on air.
///
/// The kernel sends an instance in the form of version 4, with room for 31 octets twice, unless a flag asks for a
/// secondary channel; that it has room for more, as a controller of version 5 says, is not enough. A scanner of
/// version 4 hears only the former, so the latter is for what has no room otherwise.
struct AdvertisingPayload: Hashable {
    /// A part that is too long for the controller.
    struct Overflow: Error, Hashable {
        enum Part: String, Hashable {
            case data = "the advertising data"
            case scanResponse = "the scan response"
            case both = "the advertising data and the scan response together"
        }
        var part: Part
        var count: Int
        var limit: Int
        /// Whether the controller could send more than 31 octets.
        var isExtended: Bool
    }

    var flags: ManagementAdvertisingFlags
    var data: AdvertisingData
    var scanResponse: AdvertisingData

    /// Fits a request to what the controller can do.
    ///
    /// An extended advertisement to which one can connect has no scan response, so both parts go into its data.
    init(
        _ request: AdvertiseRequest,
        for features: ManagementReadAdvertisingFeatures.Response
    ) throws(Overflow) {
        flags = request.isConnectable ? .connectable : []
        data = request.data
        scanResponse = request.scanResponse
        let isExtended = features.supported.contains(.secondary1M)
        let parts = [(Overflow.Part.data, data.bytes.count), (.scanResponse, scanResponse.bytes.count)]
        guard let (part, count) = parts.first(where: { $0.1 > AdvertisingData.legacyLimit }) else { return }
        guard isExtended else {
            throw Overflow(part: part, count: count, limit: AdvertisingData.legacyLimit, isExtended: false)
        }
        flags.insert(.secondary1M)
        data = AdvertisingData(bytes: data.bytes + scanResponse.bytes)
        let isBoth = !scanResponse.bytes.isEmpty
        scanResponse = AdvertisingData(bytes: [])
        let limit = Int(features.maximumData)
        if data.bytes.count > limit {
            throw Overflow(part: isBoth ? .both : .data, count: data.bytes.count, limit: limit, isExtended: true)
        }
    }
}

extension BLEError {
    /// An advertisement that the controller has no room for.
    static func advertisementTooLong(_ overflow: AdvertisingPayload.Overflow, on adapter: String) -> BLEError {
        let (count, limit) = (overflow.count, overflow.limit)
        let why = overflow.isExtended ? "" : ": its controller has no extended advertising, which came with Bluetooth 5"
        let verb = overflow.part == .both ? "have" : "has"
        return BLEError(
            .overflow,
            operation: "advertise",
            object: adapter,
            cause: "\(overflow.part.rawValue) \(verb) \(count) octets, and \(adapter) takes \(limit) octets at most"
                + why,
            remedy: "Advertise \(count - limit) octets less: a shorter name, or fewer services"
                + (overflow.isExtended ? "." : "; or use an adapter with Bluetooth 5.")
        )
    }
}
