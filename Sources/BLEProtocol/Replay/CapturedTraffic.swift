/// The devices' traffic in a btsnoop file: their advertisements, and the ATT PDUs of their links.
///
/// Made by ``CaptureReader``. A value; its size is bounded by that of the file, and by ``Limits``.
package struct CapturedTraffic: Hashable, Sendable {
    /// How much of one file is read; the rest is left out and counted.
    package enum Limits {
        package static let advertisements = 500_000
        package static let pdus = 1_000_000
        package static let links = 1024
        /// The links that are open at once, each with its waiting fragments.
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
        /// Whether it is a scan response whose advertisement was not reported with it: the system reports it by itself,
        /// too.
        package var isResponseAlone = false
    }

    /// One ATT PDU.
    package struct PDU: Hashable, Sendable {
        package var time: Duration
        /// Whether the peripheral sent it.
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
    /// The number of advertisements, links and PDUs beyond the limits, and of truncated packets.
    package var leftOut = 0

    package init() {}

    /// The time of its first event; `nil` if there is none.
    package var begin: Duration? {
        [advertisements.first?.time, links.map(\.begin).min()].compactMap { $0 }.min()
    }

    /// The time of its last event.
    package var end: Duration? {
        [advertisements.last?.time, links.map { $0.pdus.last?.time ?? $0.begin }.max()].compactMap { $0 }.max()
    }
}
