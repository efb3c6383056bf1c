import BLEProtocol
import BLERadio

extension Central {
    /// What goes wrong with the adapter while it claims to be on, and what is done about it by the plan that the central was
    /// opened with.
    ///
    /// ```swift
    /// for try await trouble in central.adapterTroubles { print(trouble) }
    /// ```
    ///
    /// A controller that hears nothing any more is noticed while somebody scans, one that doesn't answer with the next
    /// command. It never ends by itself.
    public var adapterTroubles: BLEStream<AdapterTrouble> {
        let recovery = core.recovery
        let subject = StreamSubject(operation: "adapter troubles")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            recovery.watch { mailbox.send($0) }
        }
    }

    /// Switches the adapter on, ready for Low Energy, or off: for all programs of the machine.
    ///
    /// bluetoothd isn't needed for it. An adapter that is in the state already stays as it is. Off, everything that is under
    /// way ends with ``BLEError/Code/adapterPoweredOff``.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`,
    ///   ``BLEError/Code/adapterBlocked`` with the command that lifts the block, ``BLEError/Code/adapterNotFound``,
    ///   ``BLEError/Code/timedOut`` where the controller doesn't answer; `CancellationError`: it is switched all the same.
    public func setPowered(_ isOn: Bool) async throws {
        let core = core
        try await reply(on: core.timeline) { finish in
            let activity = core.radio.setPowered(isOn) { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}
