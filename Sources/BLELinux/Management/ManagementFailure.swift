internal import BLEProtocol

/// Why a management command had no effect.
enum ManagementFailure: Error, Hashable {
    /// The kernel refused.
    case status(ManagementStatus, ManagementOpcode)
    /// The kernel did not answer in time.
    case timedOut(ManagementOpcode)
    /// The command did not reach the kernel, or its answer made no sense.
    case broken(ManagementOpcode, String)

    /// The kernel's status; `nil` if it gave none.
    var status: ManagementStatus? {
        if case .status(let status, _) = self { status } else { nil }
    }

    /// The result of a command, as its own type.
    static func result<Command: ManagementCommand>(
        of command: Command.Type,
        _ outcome: ManagementClient.Outcome
    ) -> Result<Command.Response, ManagementFailure> {
        switch outcome {
        case .replied(let reply) where reply.status == .success:
            do throws(ManagementDecodingError) {
                return .success(try reply.response(to: command))
            } catch {
                return .failure(.broken(Command.opcode, "\(error)"))
            }
        case .replied(let reply): return .failure(.status(reply.status, Command.opcode))
        case .timedOut: return .failure(.timedOut(Command.opcode))
        case .notSent: return .failure(.broken(Command.opcode, "the socket refused it"))
        case .closed: return .failure(.broken(Command.opcode, "the management socket was closed"))
        }
    }

    /// The error for a program.
    func error(operation: String, object: String, adapter: LinuxAdapter) -> BLEError {
        switch self {
        case .status(let status, let opcode) where status.isSilence(of: opcode):
            .controllerSilent(opcode, operation: operation, object: object).unlessSwitching(opcode)
        case .status(.permissionDenied, _):
            adapter.missingAdministration(for: operation, object: object)
        case .status(.notPowered, _):
            adapter.whyUnusable(for: operation, object: object, told: .poweredOff)
        case .status(.invalidIndex, _):
            adapter.whyUnknown(for: operation, object: object)
        case .status(.blockedByRFKill, _):
            adapter.whyUnusable(for: operation, object: object)
        // The kernel has no other word for what rfkill prevents, and for what an adapter was switched off under.
        case .status(.failed, let opcode) where isHeldOff(adapter.info.state, for: opcode):
            adapter.whyUnusable(for: operation, object: object)
        case .status(.rejected, let opcode) where opcode.needsLowEnergy:
            .lowEnergyIsOff(adapter.name, operation: operation, object: object)
        case .status(let status, let opcode):
            status.remediedError(for: opcode, operation: operation, object: object)
        case .timedOut(let opcode):
            BLEError(
                .timedOut,
                operation: operation,
                object: object,
                cause: "the kernel did not answer \(opcode)",
                remedy: "Switch the adapter off and on with `Central.powerCycle()`; unplug it if that does not help."
            ).unlessSwitching(opcode)
        case .broken(let opcode, let why):
            BLEError(
                .systemFailure,
                operation: operation,
                object: object,
                cause: "\(opcode) failed: \(why)",
                remedy: "Try again; restart the program if it happens each time."
            )
        }
    }
}

extension ManagementFailure {
    /// Whether an adapter in this state can't carry out a command, whatever the controller says.
    fileprivate func isHeldOff(_ state: AdapterInfo.State, for opcode: ManagementOpcode) -> Bool {
        state == .blocked || state == .absent || state == .poweredOff && opcode != .setPowered
    }
}

extension ManagementOpcode {
    /// Whether the kernel rejects the command of an adapter that is on if Low Energy is switched off there, and for
    /// nothing else but a link in the way. Source: kernel, `net/bluetooth/mgmt.c`, `mgmt_le_support`.
    fileprivate var needsLowEnergy: Bool {
        let all: Set<ManagementOpcode> = [
            .startDiscovery, .startServiceDiscovery, .addAdvertising, .addExtendedAdvertisingParameters,
        ]
        return all.contains(self)
    }
}

extension ManagementStatus {
    /// Most statuses say only that the kernel or the controller refused.
    fileprivate func remediedError(for opcode: ManagementOpcode, operation: String, object: String) -> BLEError {
        var error = error(for: opcode, operation: operation, object: object)
        guard error.remedy.isEmpty else { return error }
        error.remedy = "Try again; if it happens each time, switch the adapter off and on: `Central.powerCycle()`."
        return error.unlessSwitching(opcode)
    }
}

extension BLEError {
    /// The same, with another remedy if the command is to switch the adapter: to switch it off and on is what has failed.
    fileprivate func unlessSwitching(_ opcode: ManagementOpcode) -> BLEError {
        guard opcode == .setPowered else { return self }
        var error = self
        error.remedy =
            "Try again; if it fails each time, reset it with `Central.reset()`, or unplug it and plug it in again."
        return error
    }
}

extension ManagementFailure {
    /// Whether the kernel has said that it can't do this at all: not that it gave no answer, nor that the adapter is
    /// away.
    var isRefusal: Bool { status.map { $0 != .invalidIndex } ?? false }

    /// Whether the same command may succeed a moment later: another program's is under way, or the controller is
    /// occupied.
    var mayPass: Bool {
        switch self {
        case .status(.busy, _), .status(.failed, _), .status(.noResources, _), .status(.timeout, _), .timedOut: true
        default: false
        }
    }
}
