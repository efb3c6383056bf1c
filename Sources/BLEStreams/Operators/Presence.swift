/// A change in the presence of a key; see ``BLEStream/presence(by:timeout:limit:)``.
public enum Presence<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// It has appeared, with its first element.
    case enter(Key, Value)
    /// It is still there, with its next element.
    case update(Key, Value)
    /// It has been silent for too long; with its last element.
    case leave(Key, last: Value)

    /// Its key.
    public var key: Key {
        switch self {
        case .enter(let key, _), .update(let key, _), .leave(let key, _): key
        }
    }

    /// The element that arrived, or the last one before it fell silent.
    public var value: Value {
        switch self {
        case .enter(_, let value), .update(_, let value), .leave(_, let value): value
        }
    }
}

extension Presence: Equatable where Value: Equatable {}
extension Presence: Hashable where Value: Hashable {}
