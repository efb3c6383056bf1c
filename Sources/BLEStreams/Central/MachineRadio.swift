import BLEProtocol
import BLERadio

#if KERNEL_RADIO
    import BLELinux
#endif

/// The radio of this machine's adapters: the one place that knows which system this is.
enum MachineRadio {
    #if KERNEL_RADIO
        /// The adapter with this name, or else the first one that is switched on.
        static func open(_ name: String?) throws -> any Radio { try LinuxRadio(adapter: name) }

        /// The same, for an adapter that need not be there yet.
        static func await(_ name: String?) throws -> any Radio { try LinuxRadio(awaiting: name) }

        /// The adapter with this address, which need not be there yet.
        static func open(_ address: BluetoothAddress) throws -> any Radio { try LinuxRadio(address: address) }

        /// All of them as one; those that are plugged in later are added.
        static func all(mayBeMissing: Bool) throws -> any Radio {
            let roster = try AdapterRoster(mayBeMissing: mayBeMissing)
            return JoinedRadio([], timeline: roster.timeline) { add in roster.observe { add($0) } }
        }

        /// All there are, whether they can be used or not.
        static func adapters() throws -> [AdapterInfo] { try LinuxRadio.adapters() }

        /// What is found at the adapter with this name, or at all.
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
    /// What opening an adapter ends with where the package was built without a radio for it.
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
