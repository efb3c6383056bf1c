public import BLEProtocol
package import BLERadio

/// A peripheral that a scan has found, and its advertisement.
public struct Discovery: Sendable {
    /// The peripheral, to connect to.
    public let peripheral: Peripheral

    /// The advertisement as it was received.
    package let report: AdvertisingReport

    /// The advertiser's address.
    public var address: BluetoothAddress { report.address }

    /// The received signal strength in dBm; `nil` if the radio doesn't know it.
    public var rssi: Int? { report.rssi.map(Int.init) }

    /// The name that it advertises, complete or shortened.
    public var name: String? { report.data.localName }

    /// The services that it lists.
    public var services: [BluetoothUUID] { report.data.serviceUUIDs }

    /// Everything that it advertises.
    public var advertisement: AdvertisingData { report.data }

    /// Whether it accepts connections.
    public var isConnectable: Bool { report.isConnectable }

    /// The name of the adapter that received it, if several are joined (``AdapterChoice/joined(_:)``); otherwise `nil`.
    public var adapter: String? { report.adapter }

    /// When it was received.
    public var time: ReceptionTime { report.time }
}
