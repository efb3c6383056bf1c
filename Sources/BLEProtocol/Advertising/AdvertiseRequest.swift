/// What to advertise, and how: a declaration, as a value.
///
/// ```swift
/// let declaration = AdvertiseRequest(
///     [.services([.environmentalSensing]), .localName("Thermometer"), .txPower(4)],
///     interval: .milliseconds(100) ... .milliseconds(150)
/// )
/// ```
///
/// Fields stand in the advertisement, 31 octets with a length and a type for each, in the order of the declaration. What
/// has no room there is moved to the scan response, another 31, which only active scanners get. What has no room in the two
/// makes one extended advertisement, on an adapter with Bluetooth 5, of up to ``AdvertisingData/extendedLimit`` octets:
/// scanners of Bluetooth 4 don't hear it. Else it is refused with ``BLEError/Code/overflow``; the error names the octets of
/// each field, and what to leave out.
///
/// A field that has one meaning, such as the name, is there once in each of the two; data of services and companies may be
/// repeated. Source: Core Specification Supplement, Part A, 1.
public struct AdvertiseRequest: Hashable, Sendable {
    /// What is advertised, the most important first.
    public var fields: [AdvertisingField]

    /// What stands in the scan response in any case; never the flags.
    public var scanResponse: [AdvertisingField]

    /// Whether centrals may connect.
    public var isConnectable: Bool

    /// The time between two advertisements, without the random part of up to 10 ms: 20 ms to 10.24 s, of which the controller
    /// chooses; `nil`: the radio's own, on Linux 1.28 s.
    public var interval: ClosedRange<Duration>?

    /// Declares what to advertise.
    public init(
        _ fields: [AdvertisingField],
        scanResponse: [AdvertisingField] = [],
        isConnectable: Bool = true,
        interval: ClosedRange<Duration>? = nil
    ) {
        self.fields = fields
        self.scanResponse = scanResponse
        self.isConnectable = isConnectable
        self.interval = interval
    }

    /// Declares what was received, or built, as octets: its AD structures, as far as they are whole.
    public init(
        data: AdvertisingData,
        scanResponse: AdvertisingData = AdvertisingData(bytes: []),
        isConnectable: Bool = true
    ) {
        self.init(data.fields, scanResponse: scanResponse.fields, isConnectable: isConnectable)
    }

    /// Where the fields stand on air.
    ///
    /// - Parameter extendedLimit: how many octets the controller sends in one extended advertisement; `nil`: it has none.
    package func layout(extendedLimit: Int? = nil) throws(AdvertisingFault) -> AdvertisingLayout {
        try AdvertisingLayout(fields, scanResponse: scanResponse, interval: interval, extendedLimit: extendedLimit)
    }
}
