extension Session {
    /// Notifications or indications that a session keeps switched on.
    public struct Subscription: Hashable, Sendable {
        /// How the characteristic is found; a key of its own.
        public let characteristic: CharacteristicReference

        /// Whether indications are preferred where the characteristic has both.
        public let indications: Bool

        /// Those of a characteristic. Where the session is restored later, one that was named as it was discovered is known by its
        /// handle.
        ///
        /// - Parameters:
        ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
        ///   - indications: whether indications are preferred where the characteristic has both.
        public init(_ key: some CharacteristicKey, indications: Bool = false) {
            characteristic = key.reference
            self.indications = indications
        }
    }
}

extension Session.Subscription: CustomStringConvertible {
    /// The characteristic: `2A37`, `2A37 in service 180D` or `handle 0x0012`.
    public var description: String { "\(characteristic)" }
}
