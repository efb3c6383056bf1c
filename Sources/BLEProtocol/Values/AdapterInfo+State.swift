extension AdapterInfo {
    /// Whether an adapter can be used, and why not.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Its state is not known yet.
        case unknown
        /// It is not present; it may be plugged in later.
        case absent
        /// The system doesn't let this program open Bluetooth sockets. A program that may connect but not scan is a
        /// different case: the scan reports what is missing.
        case unauthorized
        /// It doesn't support Bluetooth Low Energy.
        case unsupported
        /// It is present but switched off.
        case poweredOff
        /// A switch on the machine or rfkill blocks it.
        case blocked
        /// It is starting, or restarting after it hung; it reports when that is done.
        case resetting
        /// It is ready.
        case poweredOn
    }
}

extension AdapterInfo.State {
    /// Whether waiting can't help: the adapter never leaves this state by itself.
    public var isFinal: Bool { self == .unauthorized || self == .unsupported }

    /// The state in words, as a predicate of an adapter: `switched off`.
    public var words: String {
        switch self {
        case .unknown: "not known yet"
        case .absent: "not plugged in"
        case .unauthorized: "not allowed to this program"
        case .unsupported: "not capable of Bluetooth Low Energy"
        case .poweredOff: "switched off"
        case .blocked: "blocked"
        case .resetting: "starting"
        case .poweredOn: "on"
        }
    }

    /// The error of an operation in this state, with its remedy; `nil` if the adapter is on.
    ///
    /// - Parameters:
    ///   - operation: the operation: `scan`.
    ///   - object: its object: the adapter's name, an address.
    package func error(operation: String, object: String = "") -> BLEError? {
        let (code, remedy): (BLEError.Code, String)
        switch self {
        case .poweredOn: return nil
        case .unknown: (code, remedy) = (.adapterNotReady, "Wait until the adapter has started, and try again.")
        case .resetting:
            (code, remedy) = (
                .adapterNotReady, "Wait until the adapter has started, or unplug it and plug it in again."
            )
        case .absent: (code, remedy) = (.adapterNotFound, "Plug the adapter in.")
        case .unauthorized:
            (code, remedy) = (
                .permissionDenied,
                "Allow the program to open Bluetooth sockets: a service needs AF_BLUETOOTH in RestrictAddressFamilies, "
                    + "a container a seccomp profile that allows it."
            )
        case .unsupported: (code, remedy) = (.notSupported, "Use an adapter with Bluetooth 4.0 or later.")
        case .poweredOff:
            (code, remedy) = (
                .adapterPoweredOff, "Switch it on with `Central.setPowered(true)`, or \"bluetoothctl power on\"."
            )
        case .blocked:
            (code, remedy) = (
                .adapterBlocked,
                "Run \"sudo rfkill unblock bluetooth\", or turn on the machine's radio switch; then switch the adapter "
                    + "on with `Central.setPowered(true)`."
            )
        }
        let cause = self == .unknown ? "it is not known yet what the adapter is" : "the adapter is \(words)"
        return BLEError(code, operation: operation, object: object, cause: cause, remedy: remedy)
    }
}
