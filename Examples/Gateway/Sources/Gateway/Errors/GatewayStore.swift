import Foundation

/// Where this gateway keeps its bonds, and how somebody runs `ble` on them.
struct GatewayStore: Hashable, Sendable {
    /// The folder that systemd made for the service, or a container's image names; `nil`: that of the user.
    private let folder: String?
    /// The user as whom systemd runs the gateway; `nil` if it is root, or systemd doesn't run it.
    private let user: String?

    /// - Parameter environment: the variables of the gateway's process.
    init(_ environment: [String: String]) {
        folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        // A service has both (systemd.exec(5)); a container doesn't have the first.
        user = environment["INVOCATION_ID"] == nil ? nil : environment["USER"]
    }

    /// That of this process.
    static let own = GatewayStore(ProcessInfo.processInfo.environment)

    /// A command line by which `ble` runs on these bonds.
    ///
    /// - Parameter words: the words behind `ble`: `pair C4:F2:17:1A:1D:BB`.
    func command(_ words: String) -> String {
        guard let folder else { return "ble \(words)" }
        guard let user else { return "STATE_DIRECTORY=\(folder) ble \(words)" }
        // Where `StateDirectory=` makes folders: in the first one for a user that systemd makes as well.
        for (place, makesUser) in [("/var/lib/private/", true), ("/var/lib/", false)] where folder.hasPrefix(place) {
            return "sudo systemd-run --pty \(makesUser ? "-p DynamicUser=yes " : "")-p User=\(user) "
                + "-p StateDirectory=\(folder.dropFirst(place.count)) "
                + "-p 'AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW' ble \(words)"
        }
        return "STATE_DIRECTORY=\(folder) ble \(words)"
    }
}
