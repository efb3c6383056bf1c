/// A value with a name and a time. Source: Sparkplug 3.0, 6.4.6 (Metric).
public struct SparkplugMetric: Hashable, Sendable {
    /// The name, unique in its device.
    public var name: String
    /// When it was so, in milliseconds since 1970.
    public var timestamp: UInt64
    /// The value, or only its type while none is known.
    public var value: SparkplugValue
    /// Whether it was recorded before, and says nothing of the present.
    public var isHistorical = false
    /// The unit, such as `°C`; empty: none.
    public var unit = ""

    /// Makes a metric.
    public init(_ name: String, _ value: SparkplugValue, at timestamp: UInt64, unit: String = "") {
        (self.name, self.value, self.timestamp, self.unit) = (name, value, timestamp, unit)
    }
}

/// The value of a metric.
public enum SparkplugValue: Hashable, Sendable {
    case unsigned(UInt64)
    case double(Double)
    case boolean(Bool)
    case string(String)
    case bytes([UInt8])
    /// No value of this type is known.
    case null(SparkplugType)

    /// Its type.
    public var type: SparkplugType {
        switch self {
        case .unsigned: .uint64
        case .double: .double
        case .boolean: .boolean
        case .string: .string
        case .bytes: .bytes
        case .null(let type): type
        }
    }
}

/// The type of a metric's value, one of those that a gateway has. Source: Sparkplug 3.0, 6.4.16 (Datatypes).
public enum SparkplugType: UInt32, Hashable, Sendable {
    case uint64 = 8
    case double = 10
    case boolean = 11
    case string = 12
    case bytes = 17
}
