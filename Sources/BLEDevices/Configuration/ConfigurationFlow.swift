public import BLEProtocol
import BLERadio
public import BLEStreams

/// Writes the settings of a device: all of them, or none.
///
/// The flow reads each setting, writes those that differ, in order, and reads each back to compare. If one fails, or on
/// cancellation, it restores the values written before, the last one first.
///
/// - Throws (when run): ``BLEError/Code/attributeError`` if the device refuses a value;
///   ``BLEError/Code/verificationFailed`` if it reads back another one; ``BLEError/Code/disconnected``;
///   `CancellationError`. If the previous values could not be restored, the cause says so.
public struct ConfigurationFlow: Flow {
    /// One setting of a device: a characteristic and its intended value.
    public struct Setting: Hashable, Sendable {
        /// The characteristic; it must be readable and writable.
        public var characteristic: BluetoothUUID
        /// The intended value.
        public var value: [UInt8]

        /// Describes a setting.
        public init(_ characteristic: BluetoothUUID, _ value: some Collection<UInt8>) {
            self.characteristic = characteristic
            self.value = Array(value)
        }
    }

    public var name: String { "configuration" }

    private let settings: [Setting]

    /// Describes a configuration; the settings are written in the order given.
    public init(_ settings: [Setting]) { self.settings = settings }

    /// - Returns: the settings that were changed, each with its previous value.
    public func run(on channel: FlowChannel) async throws -> [Setting] {
        try await channel.reconnect()
        channel.begin("read", total: settings.count)
        var former: [Setting] = []
        for (index, setting) in settings.enumerated() {
            let value = try await channel.read(setting.characteristic)
            former.append(Setting(setting.characteristic, value))
            channel.progress(index + 1, of: settings.count)
        }
        let changes = zip(settings, former).filter { $0.value != $1.value }
        channel.begin("write", total: changes.count)
        var begun: [Setting] = []
        do {
            for (index, (wished, old)) in changes.enumerated() {
                // A failed write may have taken effect nevertheless.
                begun.append(old)
                try await channel.write(wished.value, to: wished.characteristic)
                let value = try await channel.read(wished.characteristic)
                guard Array(value) == wished.value else { throw mismatch(wished, value, channel) }
                channel.progress(index + 1, of: changes.count)
            }
        } catch {
            channel.begin("roll back", total: begun.count)
            let lost = await rollBack(begun, on: channel)
            guard !lost.isEmpty, var error = error as? BLEError else { throw error }
            error.cause +=
                "; its previous value could not be restored: \(lost.map { "\($0)" }.joined(separator: ", "))"
            throw error
        }
        return changes.map(\.1)
    }

    /// Restores previous values, also on cancellation; returns those that could not be restored.
    private func rollBack(_ settings: [Setting], on channel: FlowChannel) async -> [BluetoothUUID] {
        var lost: [BluetoothUUID] = []
        for (index, setting) in settings.reversed().enumerated() {
            // The last one may be unchanged: the device may refuse its old value as it refused the new one.
            if await !channel.restore(setting.value, of: setting.characteristic), index > 0 {
                lost.append(setting.characteristic)
            }
            channel.progress(index + 1, of: settings.count)
        }
        return lost
    }

    private func mismatch(_ setting: Setting, _ value: CharacteristicValue, _ channel: FlowChannel) -> BLEError {
        var error = BLEError(
            .verificationFailed,
            operation: name,
            object: "of \(setting.characteristic) of \(channel.peripheral)",
            cause: "the value read back differs from the one written",
            remedy: "Check which values the device allows."
        )
        error.received = Array(value)
        return error
    }
}
