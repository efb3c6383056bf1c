import BLEProtocol
public import BLEStreams

/// Writes the settings of a device: all of them, or none.
///
/// The flow reads each setting, writes those that differ, in order, and reads each back to compare. If one fails, or on
/// cancellation, it restores the values written before, the last one first. A value that could not be restored, because
/// the link was lost, is remembered: when the flow is run again, by ``CommandQueue/retrying(_:when:)`` or later, it is
/// restored if that run fails, and returned among the previous values if it succeeds.
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
    /// The previous values that could not be restored, in the order in which they were replaced.
    private let unrestored = FlowMemory<[Setting]>()

    /// Describes a configuration; the settings are written in the order given. A characteristic may be set twice, as
    /// one that unlocks the others and locks them again.
    public init(_ settings: [Setting]) { self.settings = settings }

    /// - Returns: the settings that had another value before, with that value.
    public func run(in context: CommandContext) async throws -> [Setting] {
        try await context.reconnect()
        let device = unrestored.name(of: context.linkedPeripheral)
        let owed = unrestored[device] ?? []
        var begun = owed
        // What the device still has if it has refused the setting begun last; `nil` if it has taken that.
        var kept: Setting?
        do {
            let present = try await read(in: context)
            let former = present.map { setting in
                owed.first { $0.characteristic == setting.characteristic } ?? setting
            }
            let changes = self.changes(from: present)
            context.begin("write", total: changes.count)
            for (done, (index, before)) in changes.enumerated() {
                let undo = before ?? former[index]
                // A failed write may have taken effect nevertheless.
                if !owed.contains(undo) { begun.append(undo) }
                kept = before ?? present[index]
                try await context.write(settings[index].value, to: settings[index].characteristic)
                kept = nil
                try await verify(settings[index], in: context)
                context.progress(done + 1, of: changes.count)
            }
            unrestored[device] = nil
            let last = settings.indices.filter { index in
                !settings[(index + 1)...].contains { $0.characteristic == settings[index].characteristic }
            }
            return last.filter { settings[$0].value != former[$0].value }.map { former[$0] }
        } catch {
            if begun.isEmpty { throw error }
            context.begin("roll back", total: begun.count)
            let lost = await rollBack(begun, in: context)
            // A setting that was refused has not changed: the device may refuse its old value as it refused the new
            // one. Without an answer, nobody knows.
            if (error as? BLEError).map({ Self.unanswered.contains($0.code) }) ?? true { kept = nil }
            let changed = lost.filter { $0 != kept }
            // Only these are to be restored later: somebody else may set the others meanwhile.
            unrestored[device] = changed.isEmpty ? nil : changed
            throw told(error, unrestored: changed)
        }
    }

    /// The errors of a write that tell nothing of what the device has done.
    private static let unanswered: [BLEError.Code] = [.disconnected, .timedOut, .protocolViolation, .ended]

    /// An error that ends the flow, with the settings whose previous values could not be restored.
    private func told(_ error: any Error, unrestored changed: [Setting]) -> any Error {
        guard var error = error as? BLEError, !changed.isEmpty else { return error }
        var names: [String] = []
        // One that is set twice has two previous values.
        for name in changed.map({ "\($0.characteristic)" }) where !names.contains(name) { names.append(name) }
        error.cause += "; its previous value could not be restored: \(names.joined(separator: ", "))"
        return error
    }

    /// The settings to write, by their places; with the one before if an earlier one of the same characteristic has
    /// then set that.
    private func changes(from present: [Setting]) -> [(place: Int, before: Setting?)] {
        var latest: [CharacteristicReference: Setting] = [:]
        var changes: [(place: Int, before: Setting?)] = []
        for (place, setting) in settings.enumerated() {
            let before = latest.updateValue(setting, forKey: setting.characteristic)
            if setting != before ?? present[place] { changes.append((place: place, before: before)) }
        }
        return changes
    }

    /// The settings as the device has them now.
    private func read(in context: CommandContext) async throws -> [Setting] {
        context.begin("read", total: settings.count)
        var present: [Setting] = []
        for setting in settings {
            present.append(Setting(setting.characteristic, try await context.read(setting.characteristic)))
            context.progress(present.count, of: settings.count)
        }
        return present
    }

    private func verify(_ setting: Setting, in context: CommandContext) async throws {
        let value = try await context.read(setting.characteristic)
        guard Array(value) == setting.value else { throw mismatch(setting, value, context) }
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
            cause: "the device reports a value that differs from the one written",
            remedy: "Check which values the device allows."
        )
        error.received = Array(value)
        return error
    }
}
