internal import BLEProtocol

/// Why the kernel was not given the keys of bonds: the list that this would replace may belong to another program.
enum KeyObstacle: Error, Hashable, Sendable {
    /// bluetoothd runs, which sets the list at each of its starts.
    case bluetoothd
    /// bluetoothd may run out of this program's sight.
    case perhapsBluetoothd
    /// Another program of this library has set it.
    case anotherProgram
    /// The system didn't let this program claim the list, so that whose it is can't be known.
    case system(SystemError)
    /// The list has more keys than the kernel takes: bonds of years with ever new centrals.
    case tooMany(longTerm: Int, identity: Int)
    /// The kernel refused the list.
    case management(ManagementFailure)

    func error(of adapter: LinuxAdapter) -> BLEError {
        let (operation, object) = ("restore bonds", "of \(adapter.name)")
        let (cause, remedy): (String, String)
        switch self {
        case .management(let failure): return failure.error(operation: operation, object: object, adapter: adapter)
        case .system(let error):
            return .system(error, call: "claiming the adapter's keys", operation: operation, object: object)
        case .bluetoothd:
            cause =
                "bluetoothd is running and has set the adapter's keys, in the one list that the kernel "
                + "has; keys made while it was not running are not included"
            remedy =
                "Remove the bond with Peripheral.unpair() and pair again while bluetoothd runs, which stores the "
                + "keys too; or stop it with \"sudo systemctl stop bluetooth\"; or run the program as root, which can "
                + "add to the list where debugfs is mounted."
        case .perhapsBluetoothd:
            cause =
                "bluetoothd may be running where this program can't see it, and the kernel has only one list of "
                + "keys, which this program would replace"
            remedy =
                "Let the program see the system bus (in a container: mount /run/dbus, and install libdbus-1-3) or "
                + "the machine's processes (docker run --pid=host; without ProtectProc in a service)."
        case .tooMany(let longTerm, let identity):
            let most = ManagementLoadLongTermKeys.maximum
            cause =
                longTerm > most
                ? "there are \(longTerm) keys of bonds, and the kernel takes at most \(most) in the one list that it has"
                : "there are \(identity) identity keys of bonds, and the kernel takes at most "
                    + "\(ManagementLoadIdentityResolvingKeys.maximum) in the one list that it has"
            remedy = "Remove the bonds that are not needed any more with Peripheral.unpair()."
        case .anotherProgram:
            cause =
                "another program that uses this library has set the adapter's keys, in the one list that the "
                + "kernel has"
            remedy =
                "Run only one of the programs at a time, or run them as root, which can add to the list where "
                + "debugfs is mounted."
        }
        return BLEError(.securityFailed, operation: operation, object: object, cause: cause, remedy: remedy)
    }
}
