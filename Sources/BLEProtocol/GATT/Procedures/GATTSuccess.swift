/// What a procedure has brought, without its type.
///
/// Reads and writes are nearly all there is, and have cases of their own: an existential in their place would be copied,
/// destroyed and cast by calls into the runtime wherever a result passes by. It is one word.
package enum GATTSuccess: Sendable {
    /// It was done.
    case done
    /// A value that was read.
    case octets([UInt8])
    /// What else there is: services, characteristics, an ATT_MTU.
    indirect case other(any Sendable)

    /// Takes the type off.
    @inlinable
    package init<Success: Sendable>(_ success: Success) {
        if Success.self == Void.self {
            self = .done
        } else if Success.self == [UInt8].self, let octets = success as? [UInt8] {
            self = .octets(octets)
        } else {
            self = .other(success)
        }
    }

    /// The success of a procedure whose success has this type; `nil` where it has another one.
    @inlinable
    package func value<Success: Sendable>(as type: Success.Type = Success.self) -> Success? {
        switch self {
        case .done: () as? Success
        case .octets(let octets): octets as? Success
        case .other(let value): value as? Success
        }
    }
}

extension GATTSuccess: Equatable {
    /// Equal where their types are the same, and comparable, and compare equal; those without a value too.
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
