extension AdvertisingData {
    /// Whether a device can be discovered, and which transports it has; unknown bits are kept.
    ///
    /// Source: Core Specification Supplement, Part A, 1.3.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The octet on air.
        public let rawValue: UInt8

        /// Makes flags from their octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Can be discovered for a short time.
        public static let limitedDiscoverable = Flags(rawValue: 1 << 0)
        /// Can be discovered.
        public static let generalDiscoverable = Flags(rawValue: 1 << 1)
        /// Has no classic Bluetooth (BR/EDR).
        public static let classicNotSupported = Flags(rawValue: 1 << 2)
        /// Its controller can use classic Bluetooth and Low Energy with one device at the same time.
        public static let simultaneousController = Flags(rawValue: 1 << 3)
        /// Reserved since version 5.3; before that, the same as `simultaneousController` for the host.
        public static let simultaneousHost = Flags(rawValue: 1 << 4)
    }

    /// The flags; `nil` if the advertisement has none.
    public var flags: Flags? {
        first(.flags, atLeast: 1)?.first.map(Flags.init(rawValue:))
    }
}
