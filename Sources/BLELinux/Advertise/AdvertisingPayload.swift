internal import BLEProtocol
internal import BLERadio

/// What an advertising instance is given: the octets, and how they go on air.
///
/// The kernel sends an instance in the form of version 4, with room for 31 octets twice, unless a flag asks for a
/// secondary channel; that it has room for more, as a controller of version 5 says, is not enough. A scanner of
/// version 4 hears only the former, so the latter is for what has no room otherwise.
struct AdvertisingPayload: Hashable {
    var flags: ManagementAdvertisingFlags
    var data: AdvertisingData
    var scanResponse: AdvertisingData
    /// In units of 0.625 ms; `nil`: the kernel's own.
    var interval: ClosedRange<UInt32>?

    /// Fits a request to what the controller can do.
    init(
        _ request: AdvertiseRequest,
        for features: ManagementReadAdvertisingFeatures.Response
    ) throws(AdvertisingFault) {
        let isExtended = features.supported.contains(.secondary1M)
        let layout = try request.layout(extendedLimit: isExtended ? Int(features.maximumData) : nil)
        flags = request.isConnectable ? .connectable : []
        if layout.isExtended { flags.insert(.secondary1M) }
        data = layout.data
        scanResponse = layout.scanResponse
        interval = layout.interval
    }
}
