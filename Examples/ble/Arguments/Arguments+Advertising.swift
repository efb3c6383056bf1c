import BLEDevices
import BLEStreams

extension Option {
    /// What both a beacon and a peripheral can advertise.
    static let advertised = [
        Option(
            "bthome",
            value: "WHAT=VALUE",
            help: "a sensor's value: temperature=21.5, or =@FILE; may be repeated"
        ),
        Option("service", value: "UUID", help: "a service to advertise; may be repeated"),
        Option("service-data", value: "UUID=HEX", help: "data of a service; may be repeated"),
        Option("manufacturer-data", value: "COMPANY=HEX", help: "data of a company, its number in hex: 004C=0215"),
        Option("tx-power", value: "DBM", help: "the transmit power to state in the advertisement"),
        Option("appearance", value: "N", help: "the kind of device, a number assigned by the Bluetooth SIG: 0x0341"),
        Option("interval", value: "MS", help: "how often, in ms from 20 to 10240: 100 or 100..150"),
    ]
}

extension Arguments {
    /// What only a beacon advertises.
    func beacons() throws(UsageError) -> [AdvertisingData.Field] {
        var fields: [AdvertisingData.Field] = []
        if let text = last("ibeacon") { fields += try Self.iBeacon(text).fields }
        if let url = last("eddystone-url") {
            fields += try Self.checked("eddystone-url") { try Eddystone.url(url, power: 0).fields }
        }
        return fields
    }

    /// The values in BTHome format.
    func measurements() throws(UsageError) -> [MeasurementSource] {
        try all("bthome").map { text throws(UsageError) in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            let path = parts.last.flatMap { $0.hasPrefix("@") ? String($0.dropFirst()) : nil }
            guard parts.count == 2, path.map({ !$0.isEmpty }) ?? (Double(parts[1]) != nil) else {
                throw UsageError("--bthome '\(text)': it is written like temperature=21.5, or temperature=@FILE")
            }
            guard let object = BTHome.Object(name: parts[0]) else {
                let names = BTHome.Object.all.compactMap(\.name).joined(separator: ", ")
                throw UsageError("--bthome '\(text)': the known values are: \(names)")
            }
            guard path != "-" else {
                throw UsageError(
                    "--bthome '\(text)': a file is read once a second, and standard input only once: name a file"
                )
            }
            if let path { return .file(object, path) }
            return .fixed(try Self.checked("bthome") { try BTHome.Measurement(object, Double(parts[1]) ?? 0) })
        }
    }

    /// Service data and manufacturer data.
    func advertisedData() throws(UsageError) -> [AdvertisingData.Field] {
        var fields: [AdvertisingData.Field] = []
        for text in all("service-data") {
            let (name, octets) = try Self.data(text, of: "service-data", "180F=64")
            guard let uuid = BluetoothUUID(name) else {
                throw UsageError("--service-data '\(text)': \(UsageError.uuidForm)")
            }
            fields.append(.serviceData(uuid, octets))
        }
        for text in all("manufacturer-data") {
            let (name, octets) = try Self.data(text, of: "manufacturer-data", "FFFF=0102")
            guard let company = UInt16(hexDigits: name) else {
                throw UsageError("--manufacturer-data '\(text)': a company's number is four hex digits: 004C")
            }
            fields.append(.manufacturerData(company, octets))
        }
        return fields
    }

    func txPower() throws(UsageError) -> Int8? {
        guard let text = last("tx-power") else { return nil }
        // An advertisement has no -128.
        guard let power = Int8(text), power >= -127 else {
            throw UsageError("--tx-power '\(text)': it is -127 to 127 dBm")
        }
        return power
    }

    /// A number, decimal or in hex after `0x`.
    func appearance() throws(UsageError) -> UInt16? {
        guard let text = last("appearance") else { return nil }
        let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : nil
        guard let number = digits.map({ UInt16(hexDigits: $0) }) ?? UInt16(text) else {
            throw UsageError("--appearance '\(text)': it is a number from 0 to 65535: 833 or 0x0341")
        }
        return number
    }

    /// A number of milliseconds, or a range of two with `..` between them.
    func advertisingInterval() throws(UsageError) -> ClosedRange<Duration>? {
        guard let text = last("interval") else { return nil }
        let parts = text.firstRange(of: "..").map { [text[..<$0.lowerBound], text[$0.upperBound...]] } ?? [text[...]]
        let numbers = parts.compactMap { Double($0) }.filter { (20...10_240).contains($0) }
        guard numbers.count == parts.count, let shortest = numbers.first, let longest = numbers.last,
            shortest <= longest
        else { throw UsageError("--interval '\(text)': it is written like 100 or 100..150, in ms from 20 to 10240") }
        return .microseconds(shortest * 1000) ... .microseconds(longest * 1000)
    }

    private static func iBeacon(_ text: String) throws(UsageError) -> IBeacon {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (3...4).contains(parts.count), let uuid = BluetoothUUID(parts[0]), let major = UInt16(parts[1]),
            let minor = UInt16(parts[2]), let power = parts.count == 4 ? Int8(parts[3]) : -59
        else {
            throw UsageError(
                "--ibeacon '\(text)': it is written like E2C56DB5-DFFB-48D2-B060-D0F5A71096E0,1,2 or with its power at "
                    + "1 m: ,-59"
            )
        }
        return IBeacon(uuid: uuid, major: major, minor: minor, measuredPower: power)
    }

    private static func data(
        _ text: String,
        of option: String,
        _ example: String
    ) throws(UsageError) -> (String, [UInt8]) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let octets = [UInt8](hex: parts[1]) else {
            throw UsageError("--\(option) '\(text)': it is written like \(example)")
        }
        return (parts[0], octets)
    }

    /// What the library says against the value of an option.
    private static func checked<Value>(_ option: String, _ make: () throws -> Value) throws(UsageError) -> Value {
        do {
            return try make()
        } catch {
            guard let error = error as? BLEError else { throw UsageError("--\(option): \(error)") }
            throw UsageError("--\(option): \(error.object): \(error.cause). \(error.remedy)")
        }
    }
}
