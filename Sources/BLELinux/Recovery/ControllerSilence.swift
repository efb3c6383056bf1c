internal import BLEProtocol

// How the kernel reports that a controller doesn't answer. It waits two seconds for each command, and answers a
// program's request with the status of a failed authentication, since it maps ETIMEDOUT to that. Source: kernel,
// `net/bluetooth/mgmt.c`, `mgmt_errno_status`.

extension ManagementClient.Outcome {
    /// Whether it means that nothing answers.
    func isSilence(of opcode: ManagementOpcode) -> Bool {
        switch self {
        case .timedOut: true
        case .replied(let reply): reply.status.isSilence(of: opcode)
        case .notSent, .closed: false
        }
    }
}

extension ManagementStatus {
    /// Whether it means that the controller did not answer the kernel.
    func isSilence(of opcode: ManagementOpcode) -> Bool {
        (self == .authenticationFailed || self == .timeout) && Self.needsNoAuthentication.contains(opcode)
    }

    private static let needsNoAuthentication: Set<ManagementOpcode> = [
        .setPowered, .setLowEnergy, .startDiscovery, .startServiceDiscovery, .stopDiscovery, .addAdvertising,
        .addExtendedAdvertisingParameters, .addExtendedAdvertisingData, .removeAdvertising, .setPHYConfiguration,
    ]
}

extension ManagementFailure {
    /// Whether it means that the controller, or the kernel, does not answer.
    var isSilence: Bool {
        switch self {
        case .timedOut: true
        case .status(let status, let opcode): status.isSilence(of: opcode)
        case .broken: false
        }
    }
}

extension BLEError {
    /// The controller doesn't answer the kernel.
    ///
    /// - Parameter command: the command that it doesn't answer.
    static func controllerSilent(
        _ command: some CustomStringConvertible,
        operation: String,
        object: String
    ) -> BLEError {
        BLEError(
            .timedOut,
            operation: operation,
            object: object,
            cause: "the controller does not answer (\(command))",
            remedy: "Switch it off and on with `Central.powerCycle()`, or let a `RecoveryPlan` do it; "
                + "unplug it if that does not help."
        )
    }
}
