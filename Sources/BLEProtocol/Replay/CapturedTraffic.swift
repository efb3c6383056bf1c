/// The devices' traffic in a btsnoop file: their advertisements, and the ATT PDUs of their links.
///
/// Made by ``CaptureReader``. A value; its size is bounded by that of the file, and by ``Limits``.
package struct CapturedTraffic: Hashable, Sendable {
    /// How much is read of one file; the rest is left out and counted.
    package enum Limits {
        package static let advertisements = 500_000
        package static let pdus = 1_000_000
        package static let links = 1024
        /// Of links that are open at once, with the fragments that wait.
        package static let openLinks = 256
    }

    /// One advertisement, with its scan response if one was received.
    package struct Advertisement: Hashable, Sendable {
        /// Since 1970-01-01 00:00:00 UTC.
        package var time: Duration
        package var address: BluetoothAddress
        package var isConnectable: Bool
        package var rssi: Int8?
        package var data: [UInt8]
    }

    /// One ATT PDU.
    package struct PDU: Hashable, Sendable {
        package var time: Duration
        /// Whether the peripheral has sent it.
        package var isFromPeripheral: Bool
        package var octets: [UInt8]
    }

    /// One link whose beginning is in the file.
    package struct Link: Hashable, Sendable {
        package var peripheral: BluetoothAddress
        package var begin: Duration
        package var pdus: [PDU] = []
    }

    /// In the order of their times.
    package var advertisements: [Advertisement] = []
    /// In the order of their beginnings.
    package var links: [Link] = []
    /// Advertisements, links and PDUs beyond the limits, and packets that are cut off.
    package var leftOut = 0

    package init() {}

    /// The time of its first event; `nil` if there is none.
    package var begin: Duration? {
        [advertisements.first?.time, links.map(\.begin).min()].compactMap { $0 }.min()
    }

    /// When the last of it happened.
    package var end: Duration? {
        [advertisements.last?.time, links.map { $0.pdus.last?.time ?? $0.begin }.max()].compactMap { $0 }.max()
    }
}
