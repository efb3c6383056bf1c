public import BLEProtocol

/// The measurements that a sensor broadcasts in the open format BTHome, version 2, unencrypted.
///
/// ```swift
/// let reading = BTHome([try .init(.temperature, 21.5), try .init(.humidity, 40)])
/// let weather = LocalPeripheral.beacon(reading.fields + [.localName("Weather")])
/// for try await device in central.scan() {
///     if let reading = BTHome(device.advertisement) { print(reading[.temperature] ?? .nan) }
/// }
/// ```
///
/// Source: the BTHome format, version 2, bthome.io.
public struct BTHome: Hashable, Sendable {
    /// One value and its quantity.
    public struct Measurement: Hashable, Sendable {
        /// What is measured.
        public let object: Object
        /// The value in the unit of ``Object/unit``, in steps of ``Object/step``; for a state 0 or 1, for a button the
        /// number of the event. For a dimmer 1, to the left, or 2, to the right, and 256 for each step that it was
        /// turned: 769 for three steps to the left.
        public let value: Double

        /// Makes a measurement, rounded to the steps of its object.
        ///
        /// - Throws: ``BLEError/Code/invalidArgument`` if the object is unknown to this library, or can't represent the
        ///   value; the error states the range.
        public init(_ object: Object, _ value: Double) throws {
            guard let form = object.form else {
                throw object.refusal("its format is unknown", "Use one of the named objects.")
            }
            let number = (value * form.divisor / form.multiplier).rounded()
            guard form.range.contains(number) else {
                let (least, most) = (form.value(form.range.lowerBound), form.value(form.range.upperBound))
                throw object.refusal("\(value) is not between \(least) and \(most)", "Use a value in this range.")
            }
            self.init(object: object, value: form.value(number))
        }

        fileprivate init(object: Object, value: Double) {
            self.object = object
            self.value = value
        }
    }

    /// The measurements, in the order of the object's number; several of one object keep their order.
    public var measurements: [Measurement] { didSet { sort() } }

    /// Whether it advertises only on events, such as a button, not all the time.
    public var isTriggered: Bool

    /// Describes a sensor's measurements.
    public init(_ measurements: [Measurement], isTriggered: Bool = false) {
        self.measurements = measurements
        self.isTriggered = isTriggered
        sort()
    }

    /// The first value of an object; `nil` if there is none.
    public subscript(_ object: Object) -> Double? { measurements.first { $0.object == object }?.value }

    /// Decodes an advertisement; `nil` if it has another format or version, or is encrypted.
    ///
    /// Text and raw data are skipped. Decoding ends at an object that this library doesn't know, as the format
    /// requires, since its length is unknown. The measurements before it are valid.
    public init?(_ advertisement: AdvertisingData) {
        guard let data = advertisement.serviceData(for: Self.service), let information = data.first,
            information & (Self.versionMask | Self.isEncrypted) == Self.version
        else { return nil }
        var reader = ByteReader(data.dropFirst())
        // Source: the format's own receiver, bthome-ble, `parser.py`.
        if information & Self.hasAddress != 0, reader.bytes(6) == nil { return nil }
        var measurements: [Measurement] = []
        while let octet = reader.uint8() {
            let object = Object(rawValue: octet)
            if object.isOfAnyLength {
                guard let count = reader.uint8(), reader.bytes(Int(count)) != nil else { break }
                continue
            }
            guard let form = object.form, let octets = reader.bytes(form.octets) else { break }
            measurements.append(Measurement(object: object, value: form.value(form.number(octets))))
        }
        self.init(measurements, isTriggered: information & Self.triggered != 0)
    }

    /// The fields to advertise: the flags, which the format requires, and the data.
    public var fields: [AdvertisingData.Field] {
        let data = measurements.flatMap { measurement in
            measurement.object.form.map { [measurement.object.rawValue] + $0.octets(of: measurement.value) } ?? []
        }
        let information = Self.version | (isTriggered ? Self.triggered : 0)
        return [
            .flags([.generalDiscoverable, .classicNotSupported]), .serviceData(Self.service, [information] + data),
        ]
    }

    private mutating func sort() {
        let sorted = measurements.enumerated().sorted {
            ($0.element.object.rawValue, $0.offset) < ($1.element.object.rawValue, $1.offset)
        }
        let new = sorted.map(\.element)
        if new != measurements { measurements = new }
    }

    private static let service = BluetoothUUID(0xFCD2)
    private static let version: UInt8 = 0b0100_0000
    private static let versionMask: UInt8 = 0b1110_0000
    private static let triggered: UInt8 = 0b0000_0100
    /// The device's own address precedes the measurements.
    private static let hasAddress: UInt8 = 0b0000_0010
    private static let isEncrypted: UInt8 = 0b0000_0001
}
