import Foundation
import Glibc

/// Where this gateway keeps its bonds, and how somebody runs `ble` on them.
struct GatewayStore: Hashable, Sendable {
    /// The folder that systemd made for the service, or a container's image names; `nil`: that of the user.
    private let folder: String?
    /// The user as whom systemd runs the gateway; `nil` if it is root, or systemd doesn't run it.
    private let user: String?
    /// Whether systemd makes that user at each start, as `DynamicUser=` says.
    private let isDynamic: Bool

    /// - Parameters:
    ///   - environment: the variables of the gateway's process.
    ///   - userID: the user as whom it runs.
    init(_ environment: [String: String], userID: UInt32) {
        folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        // A service has both (systemd.exec(5)); a container doesn't have the first.
        user = environment["INVOCATION_ID"] == nil ? nil : environment["USER"]
        // Nothing else tells: the folder's name is the same, whoever the user is. See systemd.io/UIDS-GIDS.
        isDynamic = (61184...65519).contains(userID)
    }

    /// That of this process.
    static let own = GatewayStore(ProcessInfo.processInfo.environment, userID: geteuid())

    /// A command line by which `ble` runs on these bonds.
    ///
    /// - Parameter words: the words behind `ble`: `pair C4:F2:17:1A:1D:BB`.
    func command(_ words: String) -> String {
        guard let folder else { return "ble \(words)" }
        guard let user else { return "STATE_DIRECTORY=\(folder) ble \(words)" }
        let place = "/var/lib/"
        // Where `StateDirectory=` makes folders.
        if folder.hasPrefix(place) {
            return "sudo systemd-run --pty \(isDynamic ? "-p DynamicUser=yes " : "")-p User=\(user) "
                + "-p StateDirectory=\(folder.dropFirst(place.count)) "
                + "-p 'AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW' ble \(words)"
        }
        return "STATE_DIRECTORY=\(folder) ble \(words)"
    }
}
