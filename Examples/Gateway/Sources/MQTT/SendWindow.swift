/// The messages in flight: given to the broker, and not acknowledged.
struct SendWindow {
    /// The most at once.
    var limit: Int
    /// The outbox's numbers, by libmosquitto's.
    private var tokens: [Int32: UInt64] = [:]

    init(limit: Int) { self.limit = limit }

    var hasRoom: Bool { tokens.count < limit }
    var isEmpty: Bool { tokens.isEmpty }

    mutating func sent(_ token: UInt64, as identifier: Int32) { tokens[identifier] = token }

    /// The number of a message whose acknowledgement came; `nil` if none was in flight under that identifier.
    mutating func settle(_ identifier: Int32) -> UInt64? { tokens.removeValue(forKey: identifier) }
}
