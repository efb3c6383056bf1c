public import BLEProtocol
import BLERadio

extension Central {
    /// The modulations that the adapter's controller can do, and those that it uses for links.
    ///
    /// They are the adapter's, for all programs of the machine; ``Link/conditions()`` tells what one link has. Of adapters
    /// that are joined it is what each of them has.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/notSupported`` where the kernel is older than 4.19, or the radio knows of no modulations;
    ///   ``BLEError/Code/adapterNotFound``; `CancellationError`.
    public func adapterPHYs() async throws -> AdapterPHYs {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.readPHYs { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }

    /// Has the adapter use these modulations for its links, where the other side can: for all programs of the machine.
    ///
    /// ```swift
    /// try await central.selectPHYs(PHYSelection([.le1M, .leCoded]))    // for long distances
    /// ```
    ///
    /// What can't be left out, 1M, is selected in any case. It is for the links that are made from then on; the controllers
    /// agree upon one, and a link that is up may stay as it is. An adapter that was plugged out has to be told again.
    /// Adapters that are joined are all told.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where the controller can't do one of them, with those that it can do;
    ///   ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/adapterPoweredOff``, ``BLEError/Code/adapterNotFound``; `CancellationError`: it may be selected all
    ///   the same.
    public func selectPHYs(_ selection: PHYSelection) async throws {
        let core = core
        try await reply(on: core.timeline) { finish in
            let activity = core.radio.selectPHYs(selection) { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}
