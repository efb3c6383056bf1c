/// What to advertise, and how.
///
/// ```swift
/// let declaration = AdvertiseRequest(
///     [.services([.environmentalSensing]), .localName("Thermometer"), .txPower(4)],
///     interval: .milliseconds(100) ... .milliseconds(150)
/// )
/// ```
///
/// The fields are placed in the advertisement (31 octets, including a length and a type for each field) in the order of
/// the declaration. Fields that don't fit are moved to the scan response, another 31 octets, which only active scanners
/// receive. If the two together are too small, the radio sends one extended advertisement of up to
/// ``AdvertisingData/extendedLimit`` octets, on an adapter with Bluetooth 5; Bluetooth 4 scanners don't receive it.
/// Otherwise the request is refused with ``BLEError/Code/overflow``; the error states the octets of each field and what
/// to leave out.
///
/// A field with a single meaning, such as the name, may occur once in each of the two; service data and manufacturer
/// data may be repeated. Source: Core Specification Supplement, Part A, 1.
public struct AdvertiseRequest: Hashable, Sendable {
    /// The fields to advertise, the most important first.
    public var fields: [AdvertisingData.Field]

    /// Fields that are always placed in the scan response; never the flags.
    public var scanResponse: [AdvertisingData.Field]

    /// Whether centrals may connect.
    public var isConnectable: Bool

    /// The time between two advertisements, without the random part of up to 10 ms: 20 ms to 10.24 s, from which the
    /// controller chooses; `nil`: the radio's default, 1.28 s on Linux.
    public var interval: ClosedRange<Duration>?

    /// Declares what to advertise.
    public init(
        _ fields: [AdvertisingData.Field],
        scanResponse: [AdvertisingData.Field] = [],
        isConnectable: Bool = true,
        interval: ClosedRange<Duration>? = nil
    ) {
        self.fields = fields
        self.scanResponse = scanResponse
        self.isConnectable = isConnectable
        self.interval = interval
    }

    /// Declares received or prebuilt octets: their complete AD structures.
    package init(
        data: AdvertisingData,
        scanResponse: AdvertisingData = AdvertisingData(bytes: []),
        isConnectable: Bool = true
    ) {
        self.init(data.fields, scanResponse: scanResponse.fields, isConnectable: isConnectable)
    }

    /// The placement of the fields on air.
    ///
    /// - Parameter extendedLimit: the largest extended advertisement of the controller in octets; `nil`: it supports
    ///   none.
    package func layout(extendedLimit: Int? = nil) throws(AdvertisingFault) -> AdvertisingLayout {
        try AdvertisingLayout(fields, scanResponse: scanResponse, interval: interval, extendedLimit: extendedLimit)
    }
}
