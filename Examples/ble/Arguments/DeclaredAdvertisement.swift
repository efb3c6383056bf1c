import BLEDevices
import BLEStreams
import ConsoleOutput

/// The advertisement that the options of a command declare.
struct DeclaredAdvertisement: Sendable {
    private let beacons: [AdvertisingData.Field]
    private let values: [MeasurementSource]
    private let others: [AdvertisingData.Field]
    private let isConnectable: Bool
    private let interval: ClosedRange<Duration>?

    /// Reads the options.
    ///
    /// - Parameters:
    ///   - beacons: fields that come before those of the options.
    ///   - services: the services to advertise if the options name none.
    ///   - name: the name to advertise if the options give none.
    init(
        _ arguments: Arguments,
        beacons: [AdvertisingData.Field] = [],
        services: [BluetoothUUID] = [],
        name: String? = nil,
        isConnectable: Bool
    ) throws(UsageError) {
        values = try arguments.measurements()
        let named = try arguments.uuids("service")
        let advertised = named.isEmpty ? services : named
        // A beacon that lists its own service has the others in the same list.
        let own = (try? AdvertisingData(beacons, limit: .max).serviceUUIDs) ?? []
        let list = own + advertised.filter { !own.contains($0) }
        self.beacons = beacons.map { $0 == .services(own) ? .services(list) : $0 }
        var others: [AdvertisingData.Field] = own.isEmpty && !list.isEmpty ? [.services(list)] : []
        others += try arguments.advertisedData()
        if let power = try arguments.txPower() { others.append(.txPower(power)) }
        if let appearance = try arguments.appearance() { others.append(.appearance(appearance)) }
        if arguments.last("name") == "" { throw UsageError("--name '': a name has at least one character") }
        if let name = arguments.last("name") ?? name { others.append(.localName(name)) }
        self.others = others
        self.isConnectable = isConnectable
        interval = try arguments.advertisingInterval()
    }

    var isEmpty: Bool { beacons.isEmpty && values.isEmpty && others.isEmpty }

    /// Whether a value is in a file, and so may change later.
    var isChanging: Bool { values.contains { if case .file = $0 { true } else { false } } }

    /// What to advertise now.
    ///
    /// Fields that don't fit are refused when they go on air; the error lists the octets of each field.
    ///
    /// - Throws: a `BLEError` if a file can't be read, or contains no value.
    func request() throws -> AdvertiseRequest {
        let measurements = try values.map { try $0.measurement() }
        var fields: [AdvertisingData.Field] =
            isConnectable ? [.flags([.generalDiscoverable, .classicNotSupported])] : []
        fields += beacons + (measurements.isEmpty ? [] : BTHome(measurements).fields) + others
        // Several of them ask for the flags, which go in once.
        var seen: Set<AdvertisingData.Field> = []
        return AdvertiseRequest(
            fields.filter { seen.insert($0).inserted },
            isConnectable: isConnectable,
            interval: interval
        )
    }
}

/// The source of an advertised value.
enum MeasurementSource: Sendable {
    case fixed(BTHome.Measurement)
    /// The number that the file contains now.
    case file(BTHome.Object, String)

    /// - Throws: a `BLEError` if the file can't be read, or contains no number, or one that doesn't fit.
    func measurement() throws -> BTHome.Measurement {
        switch self {
        case .fixed(let measurement): return measurement
        case .file(let object, let path):
            let text = String(decoding: try readBeginning(path, 64, isOrdinary: true), as: UTF8.self)
            let words = text.split(whereSeparator: \.isWhitespace)
            guard words.count == 1, let value = words.first.flatMap({ Double($0) }) else {
                throw BLEError(
                    .invalidArgument,
                    operation: "read",
                    object: path,
                    cause: "it does not contain a number: '\(text.harmless)'",
                    remedy: "Write one number to it, like 21.5."
                )
            }
            return try BTHome.Measurement(object, value)
        }
    }
}
