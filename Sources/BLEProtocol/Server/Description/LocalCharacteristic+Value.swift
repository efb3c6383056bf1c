extension LocalCharacteristic {
    /// Where the value of a local characteristic or descriptor comes from.
    public enum Value: Hashable, Sendable {
        /// The server stores the value: it answers reads from it, writes change it, and the program is informed of
        /// them.
        case stored([UInt8])

        /// The program is asked: each read and write waits for its answer.
        case dynamic

        /// A stored value: the octets of a text in UTF-8.
        public static func text(_ text: String) -> LocalCharacteristic.Value { .stored(Array(text.utf8)) }
    }
}
