import BLEDevices
import BLEStreams

/// A decoded value: a number, a word, or fields with names.
indirect enum DecodedValue {
    case number(Double, unit: String)
    case word(String)
    case bool(Bool)
    case list([DecodedValue])
    case fields([(name: String, value: DecodedValue)])

    /// Takes apart what a codec of the library returns; the fields are named after the type's properties.
    init(_ value: Any, unit: String = "") {
        switch value {
        case let number as Double: self = .number(number, unit: unit)
        case let number as any BinaryInteger: self = .number(Double(number), unit: unit)
        case let number as MedicalNumber: self = .number(number.value, unit: unit)
        case let time as Duration: self = .number(time / .seconds(1), unit: "s")
        case let text as String: self = .word(text)
        case let truth as Bool: self = .bool(truth)
        case let values as [Any]: self = .list(values.map { DecodedValue($0) })
        case let described as any CustomStringConvertible: self = .word("\(described)")
        default:
            let mirror = Mirror(reflecting: value)
            self = mirror.displayStyle == .struct ? .fields(Self.fields(of: mirror)) : .word("\(value)")
        }
    }

    private static func fields(of mirror: Mirror) -> [(name: String, value: DecodedValue)] {
        mirror.children.compactMap { child in
            guard let name = child.label, !(child.value is ReceptionTime) else { return nil }
            let field = Mirror(reflecting: child.value)
            guard field.displayStyle == .optional else { return (name, DecodedValue(child.value)) }
            return field.children.first.map { (name, DecodedValue($0.value)) }
        }
    }
}
