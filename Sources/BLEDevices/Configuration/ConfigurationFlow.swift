import BLEProtocol
import BLERadio
public import BLEStreams

/// Writes the settings of a device: all of them, or none.
///
/// The flow reads each setting, writes those that differ, in order, and reads each back to compare. If one fails, or on
/// cancellation, it restores the values written before, the last one first.
///
/// - Throws (when run): ``BLEError/Code/attributeError`` if the device refuses a setting;
///   ``BLEError/Code/verificationFailed`` if it reports another value afterwards; ``BLEError/Code/disconnected``;
///   `CancellationError`. If previous values could not be restored, the cause says so.
public struct ConfigurationFlow: Command {
    /// One setting of a device: a characteristic and its desired value.
    public struct Setting: Hashable, Sendable {
        /// The characteristic, which must be readable and writable.
        public var characteristic: CharacteristicReference
        /// The desired value.
        public var value: [UInt8]

        /// Creates a setting from a characteristic and its desired value.
        public init(_ characteristic: some CharacteristicKey, _ value: some Collection<UInt8>) {
            self.characteristic = characteristic.reference
            self.value = Array(value)
        }
    }

    public var name: String { "configuration" }

    private let settings: [Setting]

    /// Describes a configuration; the settings are written in the order given.
    public init(_ settings: [Setting]) { self.settings = settings }

    /// - Returns: the settings that had another value before, with that value.
    public func run(in context: CommandContext) async throws -> [Setting] {
        try await context.reconnect()
        context.begin("read", total: settings.count)
        var former: [Setting] = []
        for (index, setting) in settings.enumerated() {
            let value = try await context.read(setting.characteristic)
            former.append(Setting(setting.characteristic, value))
            context.progress(index + 1, of: settings.count)
        }
        let changes = zip(settings, former).filter { $0.value != $1.value }
        context.begin("write", total: changes.count)
        var begun: [Setting] = []
        do {
            for (index, (wished, old)) in changes.enumerated() {
                // A failed write may have taken effect nevertheless.
                begun.append(old)
                try await context.write(wished.value, to: wished.characteristic)
                let value = try await context.read(wished.characteristic)
                guard Array(value) == wished.value else { throw mismatch(wished, value, context) }
                context.progress(index + 1, of: changes.count)
            }
        } catch {
            context.begin("roll back", total: begun.count)
            let lost = await rollBack(begun, in: context)
            guard !lost.isEmpty, var error = error as? BLEError else { throw error }
            error.cause +=
                "; its previous value could not be restored: \(lost.map { "\($0)" }.joined(separator: ", "))"
            throw error
        }
        return changes.map(\.1)
    }

    /// Restores previous values, even on cancellation; returns the characteristics for which that failed.
    private func rollBack(_ settings: [Setting], in context: CommandContext) async -> [CharacteristicReference] {
        var lost: [CharacteristicReference] = []
        for (index, setting) in settings.reversed().enumerated() {
            // The last setting begun need not have changed: the device may refuse its old value as it refused the new
            // one.
            if await !context.restore(setting.value, of: setting.characteristic), index > 0 {
                lost.append(setting.characteristic)
            }
            context.progress(index + 1, of: settings.count)
        }
        return lost
    }

    private func mismatch(_ setting: Setting, _ value: CharacteristicValue, _ context: CommandContext) -> BLEError {
        var error = BLEError(
            .verificationFailed,
            operation: name,
            object: "of \(setting.characteristic) of \(context.peripheral)",
            cause: "the device says another value than was written",
            remedy: "Check which values the device allows."
        )
        error.received = Array(value)
        return error
    }
}
