import BLEProtocol
import BLERadio

extension Central {
    /// Whether the adapter hides behind addresses that change; of adapters that are joined, whether each of them does.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/notSupported`` where the radio knows no privacy; ``BLEError/Code/adapterNotFound``;
    ///   `CancellationError`.
    public func privacy() async throws -> Bool {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.readPrivacy { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }

    /// Has the adapter hide behind addresses that change, when it scans, connects and advertises, or no longer; for all
    /// programs of the machine.
    ///
    /// ```swift
    /// let central = try await Central.open()
    /// try await central.setPrivacy(true)
    /// ```
    ///
    /// Whoever pairs from then on is given the key by which these addresses are resolved, and knows this machine again by
    /// it; who has paired before isn't, and may refuse to be connected to by somebody whom it doesn't know. The key is kept
    /// in the central's ``PeerStore``, so that it is the same after a restart. The setting stays when the program ends, until
    /// the adapter is plugged out or the machine is started again: a program that wants it says so each time, and where it is
    /// set nothing is done. Linux takes another address every 15 minutes, and not while it advertises.
    ///
    /// An adapter that is on is switched off for it, and on again, unless somebody has a link with it, advertises or listens
    /// for advertisements by it. Whether another program is scanning, or connecting, Linux doesn't tell: its scan ends.
    ///
    /// Where bluetoothd runs the setting is bluetoothd's: `Privacy` in `/etc/bluetooth/main.conf`. Source: kernel,
    /// `net/bluetooth/mgmt.c`, `set_privacy`; Core Specification, Vol 3, Part C, 10.7.
    ///
    /// - Parameter interrupting: whether links, and what else is under way, may be ended for it.
    /// - Throws: ``BLEError/Code/busy`` where the adapter is used, with by whom; ``BLEError/Code/notSupported`` where
    ///   bluetoothd has the setting, or the adapter hasn't got it; ``BLEError/Code/permissionDenied`` with the command that
    ///   grants `CAP_NET_ADMIN`; ``BLEError/Code/adapterNotFound``; `CancellationError`: it may be set all the same.
    public func setPrivacy(_ isOn: Bool, interrupting: Bool = false) async throws {
        let core = core
        let privacy = AdapterPrivacy(
            isOn: isOn,
            interrupts: interrupting,
            keys: isOn ? await core.ownIdentityKeys() : [:]
        )
        try await reply(on: core.timeline) { finish in
            unattended(
                { core.radio.setPrivacy(privacy, result: $0) },
                answer: { finish($0.mapError { $0 as any Error }) }
            )
            return {}
        }
    }
}

extension CentralCore {
    /// The keys of the adapters that are there, by their addresses; they are on the disk when this returns.
    fileprivate func ownIdentityKeys() async -> [BluetoothAddress: SecretKey] {
        let infos = joined?.members.map(\.radio.adapterInfo) ?? [radio.adapterInfo]
        let addresses = infos.compactMap(\.address)
        let (store, timeline) = (store, timeline)
        let keys = await withCheckedContinuation { continuation in
            store.perform(on: timeline) {
                let keys = addresses.map { ($0, store.ownIdentityKey(of: $0, random: timeline.randomBits)) }
                continuation.resume(returning: Dictionary(keys) { $1 })
            }
        }
        await store.flush(on: timeline)
        return keys
    }
}
