import BLEProtocol
import BLERadio
public import BLEStreams
import Synchronization

/// Writes the settings of a device: all of them, or none.
///
/// The flow reads each setting, writes those that differ, in order, and reads each back to compare. If one fails, or on
/// cancellation, it restores the values written before, the last one first. What could not be restored, since the link was
/// lost, is known to the flow when it is run again, by ``CommandQueue/retrying(_:when:)`` or later: then it is restored if
/// that run fails, and among the previous values if it succeeds.
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
    private let debts = Debts()

    /// Describes a configuration; the settings are written in the order given.
    public init(_ settings: [Setting]) { self.settings = settings }

    /// - Returns: the settings that had another value before, with that value.
    public func run(in context: CommandContext) async throws -> [Setting] {
        try await context.reconnect()
        let device = context.peripheral.address
        let owed = debts.of(device)
        context.begin("read", total: settings.count)
        var present: [Setting] = []
        for (index, setting) in settings.enumerated() {
            let value = try await context.read(setting.characteristic)
            present.append(Setting(setting.characteristic, value))
            context.progress(index + 1, of: settings.count)
        }
        let former = present.map { setting in
            owed.first { $0.characteristic == setting.characteristic } ?? setting
        }
        let changes = zip(settings, zip(present, former)).filter { $0.value != $1.0.value }
        context.begin("write", total: changes.count)
        var begun = owed
        do {
            for (index, (wished, (_, old))) in changes.enumerated() {
                // A failed write may have taken effect nevertheless.
                if !owed.contains(old) { begun.append(old) }
                try await context.write(wished.value, to: wished.characteristic)
                let value = try await context.read(wished.characteristic)
                guard Array(value) == wished.value else { throw mismatch(wished, value, context) }
                context.progress(index + 1, of: changes.count)
            }
        } catch {
            context.begin("roll back", total: begun.count)
            let lost = await rollBack(begun, in: context)
            debts.note(lost, of: device)
            // The setting begun last need not have changed: the device may refuse its old value as it refused the new one.
            let names = lost.filter { $0 != begun.last || owed.contains($0) }.map { "\($0.characteristic)" }
            guard !names.isEmpty, var error = error as? BLEError else { throw error }
            error.cause += "; its previous value could not be restored: \(names.joined(separator: ", "))"
            throw error
        }
        debts.note([], of: device)
        return zip(settings, former).filter { $0.value != $1.value }.map(\.1)
    }

    /// Restores previous values, the last one first, even on cancellation; returns those for which that failed, in the
    /// order given.
    private func rollBack(_ settings: [Setting], in context: CommandContext) async -> [Setting] {
        var lost: [Setting] = []
        for (index, setting) in settings.reversed().enumerated() {
            if await !context.restore(setting.value, of: setting.characteristic) { lost.append(setting) }
            context.progress(index + 1, of: settings.count)
        }
        return lost.reversed()
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

/// The previous values that a configuration could not restore on each device, in the order in which it replaced them.
private final class Debts: Sendable {
    private let debts = Mutex<[BluetoothAddress: [ConfigurationFlow.Setting]]>([:])

    func of(_ device: BluetoothAddress) -> [ConfigurationFlow.Setting] { debts.withLock { $0[device] ?? [] } }

    func note(_ settings: [ConfigurationFlow.Setting], of device: BluetoothAddress) {
        debts.withLock { $0[device] = settings.isEmpty ? nil : settings }
    }
}
