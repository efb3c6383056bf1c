internal import BLEProtocol

/// A setting of the adapter that a pairing needs, in either role.
enum PairingSwitch: CaseIterable, Sendable {
    /// Without it, keys are made for this link only, and a central that wants a bond is refused.
    case bondable
    /// Without it, anyone who receives the pairing has the key. An adapter that doesn't support it pairs nevertheless.
    case secureConnections

    /// The bit among the kernel's settings.
    var setting: ManagementSettings {
        switch self {
        case .bondable: .bondable
        case .secureConnections: .secureConnections
        }
    }

    /// The note in case the program is killed.
    var leftover: KernelThing.Kind {
        switch self {
        case .bondable: .bondable
        case .secureConnections: .secureConnections
        }
    }

    /// The switches that an adapter with these supported settings has. Some kernels leave bondable out.
    static func possible(in supported: ManagementSettings) -> [PairingSwitch] {
        allCases.filter { $0 == .bondable || supported.contains($0.setting) }
    }

    /// The switches that are off but could be on.
    static func missing(in information: ManagementReadInformation.Response) -> [PairingSwitch] {
        possible(in: information.supported).filter { !information.current.contains($0.setting) }
    }

    func set(
        _ isOn: Bool,
        _ management: ManagementSocket,
        _ answer: @escaping @Sendable (ManagementFailure?) -> Void
    ) {
        switch self {
        case .bondable: management.submit(ManagementSetBondable(isOn)) { answer($0.failure) }
        case .secureConnections:
            management.submit(ManagementSetSecureConnections(isOn ? .on : .off)) { answer($0.failure) }
        }
    }
}
