public import BLEProtocol

/// One advertisement, as the radio received it.
public struct AdvertisingReport: Hashable, Sendable {
    /// The advertiser's address.
    public var address: BluetoothAddress

    /// The received signal strength in dBm; `nil` where the radio doesn't know.
    public var rssi: Int8?

    /// Whether the advertiser accepts connections.
    public var isConnectable: Bool

    /// Advertising data, followed by scan response data where the radio merged them.
    public var data: AdvertisingData

    /// When it was received.
    public var time: ReceptionTime

    /// Describes an advertisement.
    public init(
        address: BluetoothAddress,
        rssi: Int8?,
        isConnectable: Bool,
        data: AdvertisingData,
        time: ReceptionTime
    ) {
        self.address = address
        self.rssi = rssi
        self.isConnectable = isConnectable
        self.data = data
        self.time = time
    }
}
