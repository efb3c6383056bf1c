public import BLEProtocol

/// One advertisement, as the radio received it.
public struct AdvertisingReport: Hashable, Sendable {
    /// The advertiser's address.
    public var address: BluetoothAddress

    /// The received signal strength in dBm; `nil` if the radio doesn't know it.
    public var rssi: Int8?

    /// Whether the advertiser accepts connections.
    public var isConnectable: Bool

    /// Advertising data, followed by scan response data where the radio merged them.
    public var data: AdvertisingData

    /// When it was received.
    public var time: ReceptionTime

    /// The name of the adapter that received it, `hci1`, if the radio joins several adapters; otherwise `nil`.
    ///
    /// If several adapters receive an advertisement, each produces a report with the signal strength it measured.
    public var adapter: String?

    /// Describes an advertisement.
    public init(
        address: BluetoothAddress,
        rssi: Int8?,
        isConnectable: Bool,
        data: AdvertisingData,
        time: ReceptionTime,
        adapter: String? = nil
    ) {
        self.address = address
        self.rssi = rssi
        self.isConnectable = isConnectable
        self.data = data
        self.time = time
        self.adapter = adapter
    }
}
