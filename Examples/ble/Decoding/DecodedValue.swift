import BLEDevices
import BLEStreams

/// A decoded value: a number, a word, or fields with names.
///
/// A case with values, such as `.setPower(180)`, is a field with the name of the case.
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
        case let time as Duration: self = .number(time.seconds, unit: "s")
        case let text as String: self = .word(text)
        case let truth as Bool: self = .bool(truth)
        case let values as [Any]: self = .list(values.map { DecodedValue($0) })
        case let described as any CustomStringConvertible: self = .word("\(described)")
        default:
            let mirror = Mirror(reflecting: value)
            let hasFields = [.struct, .tuple].contains(mirror.displayStyle) || !mirror.children.isEmpty
            self = hasFields ? .fields(Self.fields(of: mirror)) : .word("\(value)")
        }
    }

    private static func fields(of mirror: Mirror) -> [(name: String, value: DecodedValue)] {
        mirror.children.compactMap { child in
            guard let label = child.label, !(child.value is ReceptionTime) else { return nil }
            let field = Mirror(reflecting: child.value)
            guard let value = field.displayStyle == .optional ? field.children.first?.value : child.value else {
                return nil
            }
            return (label.hasPrefix(".") ? name(of: value) : label, DecodedValue(value))
        }
    }

    /// What to call a value of a case that has several without names: `outcome` for a `ControlPointOutcome`.
    private static func name(of value: Any) -> String {
        switch value {
        case is any BinaryInteger: return "number"
        case is [Any]: return "octets"
        default:
            let type = "\(type(of: value))"
            return type.suffix(from: type.lastIndex { $0.isUppercase } ?? type.startIndex).lowercased()
        }
    }
}
