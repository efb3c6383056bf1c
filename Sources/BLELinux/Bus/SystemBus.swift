internal import CBluetooth
internal import Glibc

/// The place of the system's D-Bus.
struct SystemBus: Hashable, Sendable {
    /// The address, as libdbus reads it: `unix:path=/run/dbus/system_bus_socket`.
    let address: String

    /// The bus of this machine: the one that the environment names, unless the program has rights that its caller
    /// lacks; otherwise the one at the usual place.
    static var standard: SystemBus {
        let named = CBluetooth_environment("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) }
        return SystemBus(address: named ?? "unix:path=/run/dbus/system_bus_socket")
    }

    /// Whether its socket is there. An address without a path can't be checked, and counts as there.
    var isThere: Bool {
        let prefix = "unix:path="
        guard address.hasPrefix(prefix) else { return true }
        return access(String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" }), F_OK) == 0
    }
}
