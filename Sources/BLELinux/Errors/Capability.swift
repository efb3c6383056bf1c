internal import BLEProtocol

/// The capabilities that the kernel requires of a program that does more than connect.
enum Capability: String, CaseIterable {
    /// For the management socket: scanning, advertising, dropping links.
    case networkAdministration = "cap_net_admin"
    /// For raw HCI packets: the other way to scan.
    case rawNetwork = "cap_net_raw"
}

extension LinuxAdapter {
    /// The kernel lets only programs with the capability for the management socket do it.
    func missingAdministration(for operation: String, object: String) -> BLEError {
        .missingCapability(.networkAdministration, operation: operation, object: object, on: kernel)
    }
}

extension BLEError {
    /// The kernel requires a capability that this program lacks; the remedy is that of the place where it runs.
    static func missingCapability(
        _ capability: Capability,
        operation: String,
        object: String,
        on kernel: Kernel = .ofThisMachine
    ) -> BLEError {
        BLEError(
            .permissionDenied,
            operation: operation,
            object: object,
            cause: "it requires the capability \(capability.rawValue.uppercased()), which this program lacks",
            remedy: ProcessRights.remedy(for: capability, on: kernel)
        )
    }
}
