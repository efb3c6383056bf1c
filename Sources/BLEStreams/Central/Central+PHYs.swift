public import BLEProtocol
import BLERadio

extension Central {
    /// The PHYs that the adapter's controller supports, and those that it uses for links.
    ///
    /// They apply to all programs of the machine; ``Link/conditions()`` reports those of one link. For joined adapters,
    /// the result contains what all of them have.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/notSupported`` if the kernel is older than 4.19 or the radio doesn't report PHYs;
    ///   ``BLEError/Code/adapterNotFound``; `CancellationError`.
    public func adapterPHYs() async throws -> AdapterPHYs {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.readPHYs { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }

    /// Selects the PHYs that the adapter uses for its links if the peer supports them; for all programs of the machine.
    ///
    /// ```swift
    /// try await central.selectPHYs(AdapterPHYs.Selection([.le1M, .leCoded]))    // for long distances
    /// ```
    ///
    /// 1M is mandatory and always selected. The selection applies to later links, for which the controllers agree on
    /// one PHY; a link that is up may stay as it is. After an adapter was unplugged, select again. For joined adapters,
    /// the selection applies to all of them.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` if the controller doesn't support one of them, with those that it
    ///   supports; ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/adapterPoweredOff``, ``BLEError/Code/adapterNotFound``; `CancellationError`; the selection may
    ///   still take effect.
    public func selectPHYs(_ selection: AdapterPHYs.Selection) async throws {
        let core = core
        try await reply(on: core.timeline) { finish in
            let activity = core.radio.selectPHYs(selection) { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}
