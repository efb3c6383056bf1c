import BLEProtocol
import BLERadio

extension Central {
    /// Which advertisements of a peripheral a scan reports; `true` stands for ``all``, `false` for ``ignored``.
    ///
    /// A peripheral repeats its advertisement up to fifty times a second, and changes it now and then, or never.
    public enum Duplicates: Hashable, Sendable, ExpressibleByBooleanLiteral {
        /// The first one only.
        case ignored
        /// The first one, and each whose content differs from what the scan reported of this peripheral last: its data,
        /// or whether it accepts connections. The signal strength doesn't count.
        ///
        /// This is for sensors that advertise their values, and for whoever listens for months: a repetition costs a
        /// comparison, wakes no loop and takes no room in the buffer. A peripheral that sends two contents in turns
        /// changes each time; so does one whose scan response isn't always received.
        case changes
        /// All of them.
        case all

        /// `true`: ``all``; `false`: ``ignored``.
        public init(booleanLiteral value: Bool) { self = value ? .all : .ignored }
    }
}

/// What one scan has reported of each peripheral; a value.
///
/// A scan may run for months while addresses change, so both kinds of memory have a limit. When it is reached all is
/// forgotten, and what is still there is reported once more.
struct ReportedAdvertisements {
    private struct Content {
        let data: AdvertisingData
        let isConnectable: Bool
    }

    /// How many addresses are remembered.
    static let addressLimit = 65_536
    /// Of how many peripherals the content is remembered: at 31 octets each, a megabyte in all.
    static let contentLimit = 8192

    private let duplicates: Central.Duplicates
    private var addresses: Set<BluetoothAddress> = []
    private var contents: [BluetoothAddress: Content] = [:]

    init(_ duplicates: Central.Duplicates) { self.duplicates = duplicates }

    /// Returns whether the scan has to report an advertisement, and takes it for reported then.
    mutating func take(_ report: AdvertisingReport) -> Bool {
        switch duplicates {
        case .all: true
        case .ignored: isOfNewPeripheral(report)
        case .changes: isChange(report)
        }
    }

    private mutating func isOfNewPeripheral(_ report: AdvertisingReport) -> Bool {
        guard addresses.insert(report.address).inserted else { return false }
        if addresses.count > Self.addressLimit { addresses = [report.address] }
        return true
    }

    private mutating func isChange(_ report: AdvertisingReport) -> Bool {
        if let last = contents.index(forKey: report.address) {
            let content = contents.values[last]
            if content.isConnectable == report.isConnectable, content.data == report.data { return false }
        } else if contents.count >= Self.contentLimit {
            contents = [:]
        }
        contents[report.address] = Content(data: report.data, isConnectable: report.isConnectable)
        return true
    }
}
