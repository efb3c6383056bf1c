import Foundation

/// Whether a host is there, as it says itself. Source: Sparkplug 3.0, 5.12 (STATE message).
struct HostState: Hashable, Codable {
    /// Whether it is there.
    var online: Bool
    /// Since when, in milliseconds since 1970.
    var timestamp: UInt64

    /// Reads the JSON of a STATE message; `nil` if it is none.
    init?(json octets: [UInt8]) {
        guard let state = try? JSONDecoder().decode(HostState.self, from: Data(octets)) else { return nil }
        self = state
    }
}
