/// What a client understands of GATT's additions: the first octet of Client Supported Features (2B29).
///
/// Source: Core Specification, Vol 3, Part G, 7.2.
package struct GATTClientFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Robust caching: the client wants an error if it requests an attribute that may not be the one it remembers.
    package static let robustCaching = GATTClientFeatures(rawValue: 0x01)
    /// It can use more than one bearer.
    package static let enhancedBearers = GATTClientFeatures(rawValue: 0x02)
    /// It takes several values in one notification.
    package static let multipleNotifications = GATTClientFeatures(rawValue: 0x04)

    /// All that are known; other bits are reserved for the future.
    static let known: GATTClientFeatures = [.robustCaching, .enhancedBearers, .multipleNotifications]
}
