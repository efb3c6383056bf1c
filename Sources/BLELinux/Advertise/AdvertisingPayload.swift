internal import BLEProtocol

/// The content of an advertising instance: the octets, and how they go on air.
///
/// The kernel sends an instance as a legacy advertisement, with 31 octets twice, unless a flag requests a secondary
/// channel, even if a Bluetooth 5 controller reports room for more. A Bluetooth 4 scanner receives only legacy
/// advertisements, so the extended form is used only for data that doesn't fit otherwise.
struct AdvertisingPayload: Hashable {
    var flags: ManagementAdvertisingFlags
    var data: AdvertisingData
    var scanResponse: AdvertisingData
    /// In units of 0.625 ms; `nil`: the kernel's own.
    var interval: ClosedRange<UInt32>?

    /// Whether it is sent in the extended form.
    var isExtended: Bool { flags.contains(.secondary1M) }

    /// Fits a request to the controller's features.
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

extension ManagementReadAdvertisingFeatures.Response {
    /// The numbers that no instance has, as far as the kernel shows, the highest first.
    ///
    /// bluetoothd counts from 1, and doesn't check whether a number is taken: it would silently replace our instance
    /// with its own.
    var freeInstances: [UInt8] {
        guard maximumInstances > 0 else { return [] }
        return (1...maximumInstances).reversed().filter { !instances.contains($0) }
    }
}
