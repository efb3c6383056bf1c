extension ManagementStatus {
    /// The kind of failure that a program using the library sees for a status.
    package var errorCode: BLEError.Code {
        switch self {
        case .notConnected, .disconnected: .disconnected
        case .connectFailed: .connectionFailed
        case .timeout: .timedOut
        case .busy, .alreadyConnected: .busy
        case .unknownCommand, .notSupported: .notSupported
        case .invalidParameters: .invalidArgument
        case .notPowered: .adapterPoweredOff
        case .invalidIndex: .adapterNotFound
        case .blockedByRFKill: .adapterBlocked
        case .permissionDenied: .permissionDenied
        default: .systemFailure
        }
    }

    /// An error for a command that was answered with this status.
    ///
    /// - Parameters:
    ///   - opcode: the command that was answered.
    ///   - operation: the operation that the program requested: `scan`.
    ///   - object: the object of the operation: `hci0`, an address.
    package func error(for opcode: ManagementOpcode, operation: String, object: String) -> BLEError {
        BLEError(
            errorCode,
            operation: operation,
            object: object,
            cause: "the kernel answered \(opcode) with \(self)",
            remedy: remedy
        )
    }

    private var remedy: String {
        switch self {
        case .notPowered: "Switch it on with `Central.setPowered(true)`, or \"bluetoothctl power on\"."
        case .blockedByRFKill:
            "Run \"sudo rfkill unblock bluetooth\", then switch it on with `Central.setPowered(true)`."
        case .permissionDenied:
            "Run the program as root, or run \"sudo setcap cap_net_admin+ep PROGRAM\" with its path for PROGRAM."
        case .busy: "Wait until the other program that uses the adapter is done, or end that program; then try again."
        case .unknownCommand: "Use a newer kernel: this one is too old for the command."
        case .notSupported: "Use an adapter whose controller supports it, or a newer kernel."
        case .invalidIndex: "Plug the adapter in, or name another one."
        default: ""
        }
    }
}
