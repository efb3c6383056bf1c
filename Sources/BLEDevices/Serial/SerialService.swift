public import BLEProtocol

/// A service that emulates a serial line: the peripheral sends with one characteristic and receives with another.
public struct SerialService: Hashable, Sendable {
    /// The service.
    public var service: BluetoothUUID

    /// The characteristic with which the peripheral sends, as notifications or indications.
    public var incoming: BluetoothUUID

    /// The characteristic to write to.
    public var outgoing: BluetoothUUID

    /// Describes a serial line.
    public init(_ service: BluetoothUUID, incoming: BluetoothUUID, outgoing: BluetoothUUID) {
        self.service = service
        self.incoming = incoming
        self.outgoing = outgoing
    }

    /// The Nordic UART Service, found on most development boards and modules.
    ///
    /// The names of its characteristics are the peripheral's: it receives on RX and transmits on TX.
    public static let nordicUART = SerialService(
        BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E),
        incoming: BluetoothUUID(high: 0x6E40_0003_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E),
        outgoing: BluetoothUUID(high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
    )
}
