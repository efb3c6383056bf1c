import BLEProtocol
import BLERadio

#if KERNEL_RADIO
    import BLELinux
#endif

/// The radio of this machine's adapters; only this type knows the operating system.
enum MachineRadio {
    #if KERNEL_RADIO
        /// The adapter with this name; without a name, the first one that is switched on.
        static func open(_ name: String?) throws -> any Radio { try LinuxRadio(adapter: name) }

        /// The same, for an adapter that may be absent.
        static func await(_ name: String?) throws -> any Radio { try LinuxRadio(awaiting: name) }

        /// The adapter with this address; it may be absent.
        static func open(_ address: BluetoothAddress) throws -> any Radio { try LinuxRadio(address: address) }

        /// All adapters as one radio; those plugged in later are added.
        static func all(mayBeMissing: Bool) throws -> any Radio {
            let roster = try AdapterRoster(mayBeMissing: mayBeMissing)
            return JoinedRadio([], timeline: roster.timeline) { add in roster.observe { add($0) } }
        }

        /// All adapters, whether they can be used or not.
        static func adapters() throws -> [AdapterInfo] { try LinuxRadio.adapters() }

        /// Examines the adapter with this name, or all of them.
        static func diagnose(_ adapter: String?, result: @escaping @Sendable (Diagnosis) -> Void) {
            Examination.run(adapter, result: result)
        }
    #else
        static func open(_ name: String?) throws -> any Radio { throw BLEError.leftOut(name) }
        static func await(_ name: String?) throws -> any Radio { throw BLEError.leftOut(name) }
        static func open(_ address: BluetoothAddress) throws -> any Radio { throw BLEError.leftOut("\(address)") }
        static func all(mayBeMissing: Bool) throws -> any Radio { throw BLEError.leftOut(nil) }
        static func adapters() throws -> [AdapterInfo] { throw BLEError.leftOut(nil) }
        static func diagnose(_ adapter: String?, result: @escaping @Sendable (Diagnosis) -> Void) {
            let finding = Diagnosis.Finding(.noBluetooth, .obstacle, BLEError.leftOut(adapter))
            result(Diagnosis(system: "no system with Bluetooth", findings: [finding]))
        }
    #endif
}

extension BLEError {
    /// The error of opening an adapter if the package was built without a radio for this system.
    fileprivate static func leftOut(_ name: String?) -> BLEError {
        BLEError(
            .unsupportedSystem,
            operation: "open adapter",
            object: name ?? "",
            cause: "this build has no radio for the system's adapters",
            remedy: "Build on Linux with BLESTREAMS_BACKEND unset, or open a radio of your own with .radio(…)."
        )
    }
}
