public import BLEProtocol
import BLERadio

/// A condition that a scan's results must meet.
///
/// Filters of different kinds must all match; of several filters of one kind, one match is enough: `scan(for:
/// .service(.heartRate), .service(.battery), .rssi(atLeast: -80))` finds what offers either service and is near.
public struct ScanFilter: Hashable, Sendable {
    enum Rule: Hashable, Sendable {
        case service(BluetoothUUID)
        case name(String)
        case namePrefix(String)
        case rssi(ClosedRange<Int>)
        case manufacturer(UInt16, prefix: [UInt8])
        case address(BluetoothAddress)
        case connectable
    }

    let rule: Rule

    /// Advertises the service, in a list of services or with service data.
    public static func service(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(rule: .service(uuid)) }

    /// Has exactly this name, complete or shortened; of blanks that are around it on air, all or none.
    public static func name(_ name: String) -> ScanFilter { ScanFilter(rule: .name(name)) }

    /// Has a name with this prefix; of blanks that are around the name on air, all or none.
    public static func namePrefix(_ prefix: String) -> ScanFilter { ScanFilter(rule: .namePrefix(prefix)) }

    /// Is received within these bounds, in dBm, `.rssi(-80 ... -40)`; advertisements without a signal strength don't
    /// match.
    public static func rssi(_ range: ClosedRange<Int>) -> ScanFilter { ScanFilter(rule: .rssi(range)) }

    /// Is received at least this strongly, in dBm: `.rssi(atLeast: -80)`.
    public static func rssi(atLeast level: Int) -> ScanFilter { ScanFilter(rule: .rssi(level...max(level, 127))) }

    /// Carries data of the manufacturer (its number as the Bluetooth SIG assigned it) that begins with these octets.
    public static func manufacturer(_ company: UInt16, dataPrefix: [UInt8] = []) -> ScanFilter {
        ScanFilter(rule: .manufacturer(company, prefix: dataPrefix))
    }

    /// Has this address; for a private one of a bonded peripheral, is that peripheral, whichever address it has now.
    public static func address(_ address: BluetoothAddress) -> ScanFilter { ScanFilter(rule: .address(address)) }

    /// Accepts connections.
    public static let connectable = ScanFilter(rule: .connectable)
}

extension ScanFilter {
    /// Whether it applies to the signal strength, which differs with each advertisement.
    var isAboutSignal: Bool { if case .rssi = rule { true } else { false } }
}

extension ScanFilter: CustomStringConvertible {
    /// The condition in words: `name 'Bench…'`.
    public var description: String {
        switch rule {
        case .service(let uuid): "service \(uuid)"
        case .name(let name): "name '\(name)'"
        case .namePrefix(let prefix): "name '\(prefix)…'"
        case .rssi(let range) where range.upperBound >= 127: "at least \(range.lowerBound) dBm"
        case .rssi(let range): "\(range.lowerBound) to \(range.upperBound) dBm"
        case .manufacturer(let company, _): "data of manufacturer \(company.hexadecimal)"
        case .address(let address): "address \(address)"
        case .connectable: "connectable"
        }
    }
}

extension [ScanFilter] {
    /// The object of a scan's errors: `for service 180D, at least -80 dBm`; empty without a filter.
    var inWords: String { isEmpty ? "" : "for " + map(\.description).joined(separator: ", ") }
}

/// All filters of one scan, sorted by kind. An object, so that nothing is copied for each advertisement.
final class ScanCriteria: Sendable {
    private let services: [BluetoothUUID]
    private let names: [ScanFilter.Rule]
    /// Whether one of them begins or ends with a blank; only then a name's own blanks matter.
    private let namesHaveBlanks: Bool
    private let ranges: [ClosedRange<Int>]
    private let manufacturers: [(company: UInt16, prefix: [UInt8])]
    private let addresses: Set<BluetoothAddress>
    /// Those of them whose identities may become known while the scan runs.
    private let privateAddresses: [BluetoothAddress]
    private let identity: @Sendable (BluetoothAddress) -> BluetoothAddress
    private let mustBeConnectable: Bool

    /// - Parameter identity: the identity behind a private address, under which a scan reports a bonded peripheral.
    init(
        _ filters: [ScanFilter],
        identity: @escaping @Sendable (BluetoothAddress) -> BluetoothAddress = { $0 }
    ) {
        var (services, names, ranges): ([BluetoothUUID], [ScanFilter.Rule], [ClosedRange<Int>]) = ([], [], [])
        var manufacturers: [(company: UInt16, prefix: [UInt8])] = []
        var (addresses, mustBeConnectable): (Set<BluetoothAddress>, Bool) = ([], false)
        var namesHaveBlanks = false
        for filter in filters {
            switch filter.rule {
            case .service(let uuid): services.append(uuid)
            case .name(let text), .namePrefix(let text):
                names.append(filter.rule)
                if [text.first, text.last].contains(where: { $0?.isWhitespace == true }) { namesHaveBlanks = true }
            case .rssi(let range): ranges.append(range)
            case .manufacturer(let company, let prefix): manufacturers.append((company, prefix))
            case .address(let address): addresses.insert(address)
            case .connectable: mustBeConnectable = true
            }
        }
        (self.services, self.names, self.ranges) = (services, names, ranges)
        (self.manufacturers, self.addresses, self.mustBeConnectable) = (manufacturers, addresses, mustBeConnectable)
        self.namesHaveBlanks = namesHaveBlanks
        privateAddresses = addresses.filter { $0.subkind == .resolvablePrivate }
        self.identity = identity
    }

    /// Whether its signal strength matches, which differs with each advertisement.
    func matchesSignal(of report: AdvertisingReport) -> Bool {
        if ranges.isEmpty { return true }
        guard let rssi = report.rssi else { return false }
        return ranges.contains { $0.contains(Int(rssi)) }
    }

    /// Whether all matches that may change while the advertisement stays the same: its signal strength, and whose
    /// private address is looked for, which a pairing reveals.
    func matchesNow(_ report: AdvertisingReport) -> Bool {
        guard matchesSignal(of: report) else { return false }
        return privateAddresses.isEmpty || matchesAddress(report.address)
    }

    /// Whether the rest matches: the result is the same for a device as long as its advertisement is.
    func matchesContent(of report: AdvertisingReport) -> Bool {
        if mustBeConnectable, !report.isConnectable { return false }
        if !addresses.isEmpty, privateAddresses.isEmpty, !addresses.contains(report.address) { return false }
        if !services.isEmpty, !matchesService(report.data) { return false }
        if !names.isEmpty, !matchesName(report.data) { return false }
        return manufacturers.isEmpty || matchesManufacturer(report.data)
    }

    /// Whether a report is of one of these peripherals, by the identities that are known by now.
    private func matchesAddress(_ address: BluetoothAddress) -> Bool {
        addresses.contains(address) || privateAddresses.contains { identity($0) == address }
    }

    private func matchesService(_ data: AdvertisingData) -> Bool {
        services.contains { data.lists($0) || data.serviceData(for: $0) != nil }
    }

    private func matchesName(_ data: AdvertisingData) -> Bool {
        guard let name = data.localName else { return false }
        // What another program shows of a name, or a device's documentation, may have blanks that a discovery lacks.
        return hasName(name) || (namesHaveBlanks && data.localNameWithBlanks.map(hasName) ?? false)
    }

    private func hasName(_ name: String) -> Bool {
        names.contains { rule in
            switch rule {
            case .name(let wanted): name == wanted
            case .namePrefix(let prefix): name.hasPrefix(prefix)
            default: false
            }
        }
    }

    private func matchesManufacturer(_ data: AdvertisingData) -> Bool {
        for (type, field) in data where type == .manufacturerData && field.count >= 2 {
            let company = UInt16(field[field.startIndex]) | UInt16(field[field.startIndex + 1]) << 8
            let octets = field.dropFirst(2)
            let isWanted = manufacturers.contains { $0.company == company && octets.starts(with: $0.prefix) }
            if isWanted { return true }
        }
        return false
    }
}
