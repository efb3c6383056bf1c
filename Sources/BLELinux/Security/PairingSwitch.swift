internal import BLEProtocol

/// A setting of the adapter that a pairing needs, in either role.
enum PairingSwitch: CaseIterable, Sendable {
    /// Without it keys are made for this link alone, and a central that wants a bond is refused.
    case bondable
    /// Without it everybody who hears the pairing has the key. An adapter that can't do it pairs all the same.
    case secureConnections

    /// As the kernel counts it among the settings.
    var setting: ManagementSettings {
        switch self {
        case .bondable: .bondable
        case .secureConnections: .secureConnections
        }
    }

    /// As it is noted for the case that the program is killed.
    var leftover: KernelThing.Kind {
        switch self {
        case .bondable: .bondable
        case .secureConnections: .secureConnections
        }
    }

    /// Those that an adapter with these settings can have. Some kernels leave bondable out of what is supported.
    static func possible(in supported: ManagementSettings) -> [PairingSwitch] {
        allCases.filter { $0 == .bondable || supported.contains($0.setting) }
    }

    /// Those that are off, and could be on.
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
