/// A data item of the Concise Binary Object Representation.
///
/// Limited to what management protocols use: integers, octets, text, arrays, maps with text keys and simple values;
/// floating-point numbers are only decoded. Source: RFC 8949.
package enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n, for n up to 2⁶⁴ − 1.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// In their order in the encoding; a repeated key is not an error.
    case map([Member])
    indirect case tagged(UInt64, CBORValue)
    case bool(Bool)
    case null
    case undefined
    /// Another simple value.
    case simple(UInt8)
    case double(Double)

    /// One entry of a map.
    package struct Member: Hashable, Sendable {
        package var key: CBORValue
        package var value: CBORValue

        package init(_ key: CBORValue, _ value: CBORValue) {
            self.key = key
            self.value = value
        }
    }
}

extension CBORValue {
    /// A map with text keys.
    package static func map(_ members: KeyValuePairs<String, CBORValue>) -> CBORValue {
        .map(members.map { Member(.text($0.key), $0.value) })
    }

    /// An integer.
    package static func integer(_ value: Int) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(bitPattern: Int64(-1 - value)))
    }

    /// The value of a text key, if this is a map.
    package subscript(_ key: String) -> CBORValue? {
        guard case .map(let members) = self else { return nil }
        return members.first { $0.key == .text(key) }?.value
    }

    /// The number, if this is an integer that fits.
    package var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The octets, if this is a byte string.
    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The text, if this is a text string.
    package var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The value, if this is a Boolean.
    package var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    /// The items, if this is an array.
    package var array: [CBORValue]? { if case .array(let items) = self { items } else { nil } }
}
