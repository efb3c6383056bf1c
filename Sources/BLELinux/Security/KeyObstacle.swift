internal import BLEProtocol

/// Why the kernel was not given the keys of bonds: the list that this would replace may be somebody else's.
enum KeyObstacle: Error, Hashable, Sendable {
    /// bluetoothd runs, which sets the list at each of its starts.
    case bluetoothd
    /// bluetoothd may run where this program can't see it.
    case perhapsBluetoothd
    /// Another program of this library has set it.
    case anotherProgram
    /// The kernel didn't take the list.
    case management(ManagementFailure)

    func error(of adapter: LinuxAdapter) -> BLEError {
        let (operation, object) = ("restore bonds", "of \(adapter.name)")
        let (cause, remedy): (String, String)
        switch self {
        case .management(let failure): return failure.error(operation: operation, object: object, adapter: adapter)
        case .bluetoothd:
            cause =
                "bluetoothd runs and has given the adapter its own keys, in the one list that the kernel "
                + "has; keys that were made while it did not run are not among them"
            remedy =
                "Remove the bond with Peripheral.unpair() and pair again while bluetoothd runs, which keeps the "
                + "keys too; or stop it with \"sudo systemctl stop bluetooth\"; or run the program as root, which can "
                + "add to the list where debugfs is mounted."
        case .perhapsBluetoothd:
            cause =
                "bluetoothd may run outside of what this program can see, and the kernel has one list of "
                + "keys, which would be replaced"
            remedy =
                "Let the program see the system bus (in a container: mount /run/dbus, and install libdbus-1-3) or "
                + "the machine's processes (docker run --pid=host; without ProtectProc in a service)."
        case .anotherProgram:
            cause =
                "another program of this library has given the adapter its keys, in the one list that the "
                + "kernel has"
            remedy =
                "Use one program, or one after the other; or run them as root, which can add to the list where "
                + "debugfs is mounted."
        }
        return BLEError(.securityFailed, operation: operation, object: object, cause: cause, remedy: remedy)
    }
}
