extension Session {
    /// A subscription that a session keeps in place on all its links.
    public struct Subscription: Hashable, Sendable {
        /// The characteristic; itself a key.
        public let characteristic: CharacteristicReference

        /// Whether indications are preferred if the characteristic has both.
        public let indications: Bool

        /// Creates a subscription. A characteristic that is given as discovered must still be there in this form, also
        /// if the session is restored later: otherwise the session fails with ``BLEError/Code/servicesChanged``. One
        /// that is to be found after an update of the peripheral is given by its UUID.
        ///
        /// - Parameters:
        ///   - key: the characteristic; if the peripheral has several of its type, the first one.
        ///   - indications: whether to prefer indications if the characteristic has both.
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
