/// What a message carries. Source: Sparkplug 3.0, 6.4 (Sparkplug B payload), in protobuf.
public struct SparkplugPayload: Hashable, Sendable {
    /// When it was made, in milliseconds since 1970.
    public var timestamp: UInt64?
    /// Its values.
    public var metrics: [SparkplugMetric]
    /// Its place in the order of the node's messages, 0 to 255; a death certificate has none.
    public var sequence: UInt8?

    /// Makes a payload.
    public init(timestamp: UInt64? = nil, metrics: [SparkplugMetric] = [], sequence: UInt8? = nil) {
        (self.timestamp, self.metrics, self.sequence) = (timestamp, metrics, sequence)
    }

    private enum Field {
        static let (timestamp, metrics, sequence) = (1, 2, 3)
    }

    /// The payload as it is sent.
    public var encoded: [UInt8] {
        var writer = ProtobufWriter()
        if let timestamp { writer.write(Field.timestamp, timestamp) }
        for metric in metrics { writer.write(Field.metrics) { metric.write(to: &$0) } }
        if let sequence { writer.write(Field.sequence, UInt64(sequence)) }
        return writer.octets
    }

    /// Reads a payload. Metrics whose type a gateway doesn't use are left out.
    ///
    /// - Throws: ``SparkplugError``.
    public init(decoding octets: some Collection<UInt8>) throws(SparkplugError) {
        self.init()
        var reader = ProtobufReader(octets)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (Field.timestamp, .number(let number)): timestamp = number
            case (Field.sequence, .number(let number)): sequence = UInt8(exactly: number)
            case (Field.metrics, .octets(let octets)):
                if let metric = try SparkplugMetric(decoding: octets) { metrics.append(metric) }
            default: break
            }
        }
    }
}

extension SparkplugMetric {
    private enum Field {
        static let (name, timestamp, type, isHistorical, isNull, properties) = (1, 3, 4, 5, 7, 9)
        static let (long, double, boolean, string, bytes) = (11, 13, 14, 15, 16)
    }

    /// A metric's properties: their names, then their values.
    private enum PropertyField {
        static let (keys, values) = (1, 2)
        static let (type, string) = (1, 8)
    }

    /// The name of the property that hosts show as the unit.
    private static let unitKey = "engUnit"

    fileprivate func write(to writer: inout ProtobufWriter) {
        writer.write(Field.name, name)
        writer.write(Field.timestamp, timestamp)
        writer.write(Field.type, UInt64(value.type.rawValue))
        if isHistorical { writer.write(Field.isHistorical, true) }
        if case .null = value { writer.write(Field.isNull, true) }
        if !unit.isEmpty {
            writer.write(Field.properties) { writer in
                writer.write(PropertyField.keys, Self.unitKey)
                writer.write(PropertyField.values) { writer in
                    writer.write(PropertyField.type, UInt64(SparkplugType.string.rawValue))
                    writer.write(PropertyField.string, unit)
                }
            }
        }
        switch value {
        case .unsigned(let number): writer.write(Field.long, number)
        case .double(let number): writer.write(Field.double, number)
        case .boolean(let truth): writer.write(Field.boolean, truth)
        case .string(let text): writer.write(Field.string, text)
        case .bytes(let octets): writer.write(Field.bytes, octets)
        case .null: break
        }
    }

    /// Reads a metric; `nil` if it is of a type that a gateway doesn't use.
    fileprivate init?(decoding octets: ArraySlice<UInt8>) throws(SparkplugError) {
        self.init("", .null(.bytes), at: 0)
        var (type, content): (SparkplugType?, ProtobufReader.Value?)
        var reader = ProtobufReader(octets)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (Field.name, .octets(let octets)): name = String(decoding: octets, as: UTF8.self)
            case (Field.timestamp, .number(let number)): timestamp = number
            case (Field.type, .number(let number)):
                type = UInt32(exactly: number).flatMap { SparkplugType(rawValue: $0) }
            case (Field.isHistorical, .number(let number)): isHistorical = number != 0
            case (Field.properties, .octets(let octets)): unit = try Self.unit(in: octets)
            case (Field.long...Field.bytes, _): content = value
            default: break
            }
        }
        guard let type else { return nil }
        value = Self.value(type, content)
    }

    private static func value(_ type: SparkplugType, _ content: ProtobufReader.Value?) -> SparkplugValue {
        switch (type, content) {
        case (.uint64, .number(let number)): .unsigned(number)
        case (.double, .number(let number)): .double(Double(bitPattern: number))
        case (.boolean, .number(let number)): .boolean(number != 0)
        case (.string, .octets(let octets)): .string(String(decoding: octets, as: UTF8.self))
        case (.bytes, .octets(let octets)): .bytes(Array(octets))
        default: .null(type)
        }
    }

    /// The unit, if a metric has no other property.
    private static func unit(in octets: ArraySlice<UInt8>) throws(SparkplugError) -> String {
        var (isUnit, text) = (false, "")
        var reader = ProtobufReader(octets)
        while let (field, value) = try reader.next() {
            guard case .octets(let octets) = value else { continue }
            switch field {
            case PropertyField.keys: isUnit = String(decoding: octets, as: UTF8.self) == unitKey
            case PropertyField.values:
                var property = ProtobufReader(octets)
                while let (field, value) = try property.next() {
                    guard field == PropertyField.string, case .octets(let octets) = value else { continue }
                    text = String(decoding: octets, as: UTF8.self)
                }
            default: break
            }
        }
        return isUnit ? text : ""
    }
}
