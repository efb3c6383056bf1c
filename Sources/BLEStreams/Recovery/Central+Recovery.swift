import BLEProtocol
import BLERadio
import Synchronization

extension Central {
    /// What goes wrong with the adapter while it claims to be on, and what is done about it by the plan that the central was
    /// opened with.
    ///
    /// ```swift
    /// for try await trouble in central.adapterTroubles { print(trouble) }
    /// ```
    ///
    /// A controller that hears nothing any more is noticed while somebody scans, one that doesn't answer with the next
    /// command. A program that only connects has a scan made beside its attempts, where they have waited for
    /// ``RecoveryPlan/silence`` and nobody was heard or linked to meanwhile; it ends with the first advertisement. One silent
    /// peripheral is no trouble: others must have been heard before, or ``RecoveryPlan/hearsAlways``. Attempts go on behind a
    /// step, within their time. It never ends by itself. Of adapters that are joined each is watched and cured by itself, and the trouble names
    /// it: ``AdapterTrouble/ofOne(_:_:)``.
    public var adapterTroubles: BLEStream<AdapterTrouble> {
        let core = core
        let subject = StreamSubject(operation: "adapter troubles")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            core.watchTroubles { mailbox.send($0) }
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

    /// Switches the adapter off and on again, for all programs of the machine, and returns when it is on.
    ///
    /// ```swift
    /// try await central.powerCycle { print($0.name, $0.state.words) }
    /// ```
    ///
    /// It cures most controllers that hear nothing, or don't answer; a ``RecoveryPlan`` does the same by itself. Links end
    /// with ``DisconnectReason/Kind/adapterOff``, and what else is under way with ``BLEError/Code/adapterPoweredOff``. On
    /// Linux it takes `CAP_NET_ADMIN`, and up to some ten seconds where the controller doesn't answer.
    ///
    /// - Parameter seen: is called with the adapter whenever its name or its state is another one, on the radio's thread; must
    ///   not block.
    /// - Throws: what ``setPowered(_:)`` throws; an adapter that could be switched off and not on stays off.
    ///   `CancellationError`: it is switched off and on all the same.
    public func powerCycle(seen: @escaping @Sendable (AdapterInfo) -> Void = { _ in }) async throws {
        let core = core
        try await core.radio.seeing(seen) {
            try await reply(on: core.timeline) { finish in
                core.radio.powerCycle { finish($0.mapError { $0 as any Error }) }
                return {}
            }
        }
    }

    /// Resets the adapter's controller, as if it was pulled out and plugged in, for all programs of the machine, and returns
    /// when it is back, on or off as it was.
    ///
    /// ```swift
    /// try await central.reset { print($0.name, $0.state.words) }
    /// ```
    ///
    /// It cures controllers that a ``powerCycle(seen:)`` doesn't; a ``RecoveryPlan`` does the same by itself. Links end, and
    /// what else is under way with ``BLEError/Code/adapterNotFound``. The adapter may come back under another name; the central
    /// knows it by its address.
    ///
    /// On Linux it is for controllers that are USB devices, and resets all that the device is. It takes the right to write to
    /// the device's file below `/dev/bus/usb`, which the error says how to get, and `CAP_NET_ADMIN` where the adapter is on; some
    /// seconds, where firmware is loaded, and 20 at most. Source: kernel, `Documentation/driver-api/usb/usb.rst`.
    ///
    /// - Parameter seen: is called with the adapter whenever its name or its state is another one, on the radio's thread; must
    ///   not block.
    /// - Throws: ``BLEError/Code/notSupported`` for a controller that can't be reset (UART, SDIO, virtual), with what to do in
    ///   place of it; ``BLEError/Code/permissionDenied``; ``BLEError/Code/adapterNotFound`` where it doesn't come back;
    ///   `CancellationError`: it is reset all the same.
    public func reset(seen: @escaping @Sendable (AdapterInfo) -> Void = { _ in }) async throws {
        let core = core
        try await core.radio.seeing(seen) {
            try await reply(on: core.timeline) { finish in
                unattended({ core.radio.reset(result: $0) }, answer: { finish($0.mapError { $0 as any Error }) })
                return {}
            }
        }
    }
}

extension Radio {
    /// Tells what becomes of the adapter while the closure runs.
    fileprivate func seeing(
        _ seen: @escaping @Sendable (AdapterInfo) -> Void,
        _ body: () async throws -> Void
    ) async throws {
        let now = adapterInfo
        let last = Mutex((now.name, now.state))
        let activity = observeAdapter { info in
            let isNew = last.withLock { last in
                defer { last = (info.name, info.state) }
                return last != (info.name, info.state)
            }
            if isNew { seen(info) }
        }
        defer { activity.cancel() }
        try await body()
    }
}
