import BLEProtocol
import BLERadio
import Synchronization

extension Central {
    /// The faults of an adapter that reports that it is on, and the steps that the central's recovery plan takes.
    ///
    /// ```swift
    /// for try await trouble in central.adapterTroubles { print(trouble) }
    /// ```
    ///
    /// A controller that no longer receives anything is noticed while a scan runs, one that doesn't answer with the
    /// next command. For a program that only connects, the central adds a scan when its attempts have waited for
    /// ``RecoveryPlan/silence`` and nothing was received and no link made meanwhile; the scan ends with the first
    /// advertisement. One silent peripheral is not a fault: other devices must have been received before, or
    /// ``RecoveryPlan/hearsAlways`` must be set. Who isn't received any more while others are is forgotten within two
    /// days. Attempts continue after a step, within their time limits. The stream never ends by itself. Joined adapters
    /// are watched and recovered separately, and ``AdapterTrouble/ofOne(_:_:)`` names the adapter.
    public var adapterTroubles: BLEStream<AdapterTrouble> {
        let core = core
        let subject = StreamSubject(operation: "adapter troubles")
        return BLEStream(subject, timeline: core.timeline, buffer: .standard) { mailbox in
            core.watchTroubles { mailbox.send($0) }
        }
    }

    /// Switches the adapter on, ready for Low Energy, or off, for all programs of the machine.
    ///
    /// It doesn't need bluetoothd. An adapter that is already in the state stays as it is. Switching it off ends
    /// everything under way with ``BLEError/Code/adapterPoweredOff``. A later call in this process counts: an earlier
    /// one, or a power cycle, that still waits for the kernel doesn't undo it.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`,
    ///   ``BLEError/Code/adapterBlocked`` with the command that lifts the block, ``BLEError/Code/adapterNotFound``,
    ///   ``BLEError/Code/timedOut`` if the controller doesn't answer or its driver is stuck,
    ///   ``BLEError/Code/adapterPoweredOff`` if a later call has switched it off; `CancellationError`, and it is
    ///   switched nevertheless.
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
    /// It cures most controllers that receive nothing or don't answer; a ``RecoveryPlan`` does it automatically. Links
    /// end with ``DisconnectReason/Kind/adapterOff``, and other activities with ``BLEError/Code/adapterPoweredOff``. On
    /// Linux it requires `CAP_NET_ADMIN`, and takes up to about ten seconds if the controller doesn't answer; while
    /// another program's command keeps the kernel busy, the adapter may stay off for two minutes more. Where the driver
    /// is stuck, it fails after a minute or two.
    ///
    /// - Parameter seen: called with the adapter after each change of its name or state, on the radio's thread; must
    ///   not block.
    /// - Throws: what ``setPowered(_:)`` throws; an adapter that could be switched off but not on stays off, and the
    ///   error says so; ``BLEError/Code/adapterPoweredOff`` if this program has switched it off meanwhile, or was
    ///   switching it off already, and it stays off; `CancellationError`, and it is switched off and on nevertheless.
    public func powerCycle(seen: @escaping @Sendable (AdapterInfo) -> Void = { _ in }) async throws {
        let core = core
        try await core.radio.seeing(seen) {
            try await reply(on: core.timeline) { finish in
                core.radio.powerCycle { finish($0.mapError { $0 as any Error }) }
                return {}
            }
        }
    }

    /// Resets the adapter's controller, as if it were unplugged and plugged in again, for all programs of the machine,
    /// and returns when it is back, on or off as before; an adapter that a failed power cycle has left off comes back
    /// on, and one that this program has switched off meanwhile stays off.
    ///
    /// ```swift
    /// try await central.reset { print($0.name, $0.state.words) }
    /// ```
    ///
    /// It cures controllers that a ``powerCycle(seen:)`` doesn't; a ``RecoveryPlan`` does it automatically. Links end,
    /// and other activities end with ``BLEError/Code/adapterNotFound``. The adapter may come back under another name;
    /// the central identifies it by its address.
    ///
    /// On Linux it works for USB controllers, and resets the whole USB device. It requires permission to write to the
    /// device's file in `/dev/bus/usb`, which the error explains how to get, and `CAP_NET_ADMIN` if the adapter is on.
    /// It takes some seconds if firmware is loaded, and 20 at most; where the driver is stuck, it fails after a minute
    /// or two. Source: kernel, `Documentation/driver-api/usb/usb.rst`.
    ///
    /// Linux forgets the adapter's settings, as when it is unplugged: ``setPrivacy(_:interrupting:)`` must be called
    /// again.
    ///
    /// - Parameter seen: called with the adapter after each change of its name or state, on the radio's thread; must
    ///   not block.
    /// - Throws: ``BLEError/Code/notSupported`` for a controller that can't be reset (UART, SDIO, virtual), with an
    ///   alternative in its remedy; ``BLEError/Code/permissionDenied``; ``BLEError/Code/adapterNotFound`` if it doesn't
    ///   come back; ``BLEError/Code/timedOut`` if the driver is stuck; `CancellationError`, and it is reset
    ///   nevertheless.
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
    /// Reports the adapter's changes while the closure runs.
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
