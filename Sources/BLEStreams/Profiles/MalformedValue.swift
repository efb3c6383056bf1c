/// The reason why octets are not a value of the required type, or why a value can't be encoded.
public struct MalformedValue: Error, Hashable {
    /// The reason, in words: `2 octets were expected at offset 1`.
    public var reason: String

    /// Makes an error.
    public init(_ reason: String) { self.reason = reason }
}
