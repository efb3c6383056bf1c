package import BLEProtocol

extension BLEError {
    /// The program has switched off the adapter that it uses.
    ///
    /// - Parameter adapter: its name.
    package static func switchedOffHere(_ adapter: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterPoweredOff,
            operation: operation,
            object: object,
            cause: "this program itself has switched off \(adapter): by the power cycle of its recovery plan, or by "
                + "`Central.setPowered(false)`",
            remedy: "Try again when `Central.adapterStates` reports that it is on; a recovery plan does so at once."
        )
    }

    /// An adapter that was to be switched on, and that the program has switched off meanwhile.
    package static func switchedOffMeanwhile(_ adapter: String) -> BLEError {
        BLEError(
            .adapterPoweredOff,
            operation: "switch on",
            object: adapter,
            cause: "this program has switched \(adapter) off meanwhile, with `Central.setPowered(false)`",
            remedy: "Switch it on with `Central.setPowered(true)` when it is to be used."
        )
    }

    /// Whether it is ``switchedOffMeanwhile(_:)``: then the adapter is off as the program wishes.
    package var saysSwitchedOffMeanwhile: Bool {
        code == .adapterPoweredOff && cause == BLEError.switchedOffMeanwhile(object).cause
    }

    /// The error of an adapter that was on, was switched off for a moment, and could not be switched on again.
    ///
    /// - Parameter adapter: its name.
    package func leavingOff(_ adapter: String) -> BLEError {
        var error = self
        switch code {
        case .adapterBlocked:
            guard !remedy.contains("setPowered(true)") else { break }
            error.remedy += " Then switch it on with `Central.setPowered(true)`."
        case .systemFailure, .timedOut, .busy, .adapterPoweredOff, .adapterNotReady:
            error.remedy =
                "Switch it on with `Central.setPowered(true)`; if that fails too, reset it with `Central.reset()`, or "
                + "unplug it and plug it in again."
        default: return self
        }
        error.cause += "; \(adapter) was to be off only for a moment, and is left off"
        return error
    }
}
