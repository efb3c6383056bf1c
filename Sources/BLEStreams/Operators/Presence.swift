/// What has become of somebody whose signs of life are followed; see ``BLEStream/presence(by:timeout:limit:)``.
public enum Presence<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// It is there, with its first element.
    case enter(Key, Value)
    /// It is still there, with its next element.
    case update(Key, Value)
    /// Nothing has come from it for too long; with its last element.
    case leave(Key, last: Value)

    /// Who it is.
    public var key: Key {
        switch self {
        case .enter(let key, _), .update(let key, _), .leave(let key, _): key
        }
    }

    /// The element that came, or the last one that had come.
    public var value: Value {
        switch self {
        case .enter(_, let value), .update(_, let value), .leave(_, let value): value
        }
    }
}

extension Presence: Equatable where Value: Equatable {}
extension Presence: Hashable where Value: Hashable {}
