public import BLEStreams

/// What is written to a control point, and what the control point indicates: commands and the device's answers.
public protocol ControlPointCommand: Hashable, Sendable {
    /// What this value, which the device has indicated, says of a command; `nil` if it is no answer to that command.
    func result(of command: Self) -> ControlPointResult?
}

/// How a command has ended, by the device's answer.
public enum ControlPointResult: Hashable, Sendable {
    /// It succeeded.
    case success
    /// It failed, for this reason.
    case failure(String)
}

extension ControlPointOutcome {
    var result: ControlPointResult { self == .success ? .success : .failure("\(self)") }
}

extension CharacteristicAccess {
    /// Writes a command to a control point, and waits for the device's answer.
    ///
    /// ```swift
    /// let answer = try await link.perform(.requestCrankLength, on: .cyclingPowerControlPoint)
    /// if case .response(_, _, .crankLength(let millimetres)) = answer { print(millimetres) }
    /// ```
    ///
    /// Answers are switched on before the command, and off afterwards; iterate `notifications(of:)` of the control
    /// point meanwhile to leave them on for a series of commands.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - controlPoint: the characteristic that takes it, and indicates the answer.
    ///   - timeout: the limit for all of it; some commands, such as a calibration, take seconds.
    /// - Returns: the answer, with the parameters that it has.
    /// - Throws: `BLEError.Code.attributeError` if the device answers that the command failed; as
    ///   `request(_:to:answeredOn:timeout:where:)`.
    @discardableResult public func perform<Command: ControlPointCommand>(
        _ command: Command,
        on controlPoint: TypedCharacteristic<Command>,
        timeout: Duration = .seconds(30)
    ) async throws -> Command {
        let octets = try controlPoint.octets(of: command)
        let answer = try await request(octets, to: controlPoint, answeredOn: controlPoint, timeout: timeout) { value in
            value.result(of: command) != nil
        }
        guard case .failure(let reason) = answer.result(of: command) else { return answer }
        throw BLEError(
            .attributeError,
            operation: "perform",
            object: "\(command) on \(controlPoint.reference)",
            cause: "the control point answers: \(reason)",
            remedy: "Check that the device's features include the command, and that its value is in the permitted "
                + "range."
        )
    }
}
