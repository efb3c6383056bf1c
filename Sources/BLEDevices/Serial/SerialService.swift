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
        "6E400001-B5A3-F393-E0A9-E50E24DCCA9E",
        incoming: "6E400003-B5A3-F393-E0A9-E50E24DCCA9E",
        outgoing: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E"
    )
}
