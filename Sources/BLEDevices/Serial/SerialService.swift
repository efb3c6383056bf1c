public import BLEProtocol

/// A service that stands for a serial line: the peripheral sends on one characteristic, and is written to on another.
public struct SerialService: Hashable, Sendable {
    /// The service.
    public var service: BluetoothUUID

    /// The characteristic whose notifications or indications bring octets.
    public var incoming: BluetoothUUID

    /// The characteristic that octets are written to.
    public var outgoing: BluetoothUUID

    /// Describes a serial line.
    public init(_ service: BluetoothUUID, incoming: BluetoothUUID, outgoing: BluetoothUUID) {
        self.service = service
        self.incoming = incoming
        self.outgoing = outgoing
    }

    /// The Nordic UART Service, which most development boards and modules have.
    ///
    /// The names of its characteristics are the peripheral's: it receives on RX and transmits on TX.
    public static let nordicUART = SerialService(
        BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E),
        incoming: BluetoothUUID(high: 0x6E40_0003_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E),
        outgoing: BluetoothUUID(high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
    )
}
