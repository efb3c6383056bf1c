/// The result of a procedure, without its type.
///
/// Nearly all results are those of reads and writes, which have cases of their own: an existential would be copied,
/// destroyed and cast by calls into the runtime wherever a result is passed.
@usableFromInline
package enum GATTSuccess: Sendable {
    /// The procedure has no value to return.
    case done
    /// A value that was read; mostly a part of the PDU that brought it, so that it isn't copied.
    case octets(ArraySlice<UInt8>)
    /// Any other result: services, characteristics, an ATT_MTU.
    indirect case other(any Sendable)

    /// Erases the type.
    @inlinable
    package init<Success: Sendable>(_ success: Success) {
        if Success.self == Void.self {
            self = .done
        } else if Success.self == [UInt8].self, let octets = success as? [UInt8] {
            self = .octets(octets[...])
        } else {
            self = .other(success)
        }
    }

    /// The success, for a procedure whose success has this type; `nil` if it has another one.
    @inlinable
    package func value<Success: Sendable>(as type: Success.Type = Success.self) -> Success? {
        switch self {
        case .done: () as? Success
        case .octets(let octets): Array(octets) as? Success
        case .other(let value): value as? Success
        }
    }
}

extension GATTSuccess: Equatable {
    /// Equal if their types are the same and comparable, and they compare equal; those without a value are equal too.
    @usableFromInline
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.done, .done): return true
        case (.octets(let left), .octets(let right)): return left == right
        case (.other(let left), .other(let right)):
            guard let value = left as? any Equatable else { return false }
            return isEqual(value, right)
        default: return false
        }
    }

    private static func isEqual<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }
}
