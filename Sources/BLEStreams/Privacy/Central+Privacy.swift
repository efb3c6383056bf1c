import BLEProtocol
import BLERadio

extension Central {
    /// Whether the adapter uses changing private addresses; for joined adapters, whether all of them do.
    ///
    /// - Throws: ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/notSupported`` if the radio doesn't support privacy; ``BLEError/Code/adapterNotFound``;
    ///   `CancellationError`.
    public func privacy() async throws -> Bool {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.readPrivacy { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }

    /// Switches the adapter's use of changing private addresses on or off, for scanning, connecting and advertising;
    /// for all programs of the machine.
    ///
    /// ```swift
    /// let central = try await Central.open()
    /// try await central.setPrivacy(true)
    /// ```
    ///
    /// Devices that pair from then on get the key that resolves these addresses, and recognise this machine by it;
    /// devices that paired before don't have it, and may refuse a connection from an unknown device. The key is stored
    /// in the central's ``PeerStore``, so it is the same after a restart; where it can't be written, the store warns,
    /// and writes it once that is possible. The setting outlasts the program, until the adapter is unplugged or reset,
    /// by ``reset(seen:)`` or a ``RecoveryPlan`` too, or the machine restarts: call this at each start and after a
    /// reset; if it is already set, nothing is done. Linux changes the address every 15 minutes, except while it
    /// advertises.
    ///
    /// An adapter that is on is switched off for the change and on again, unless it has a link, advertises or listens
    /// for advertisements. Linux doesn't report whether another program is scanning or connecting: its scan ends.
    ///
    /// If bluetoothd runs, the setting is bluetoothd's: `Privacy` in `/etc/bluetooth/main.conf`. Source: kernel,
    /// `net/bluetooth/mgmt.c`, `set_privacy`; Core Specification, Vol 3, Part C, 10.7.
    ///
    /// - Parameters:
    ///   - isOn: whether the adapter uses changing private addresses.
    ///   - interrupting: whether the change may end links and other activities.
    /// - Throws: ``BLEError/Code/busy`` if the adapter is in use, with the use in its cause;
    ///   ``BLEError/Code/notSupported`` if bluetoothd owns the setting or the adapter doesn't support it;
    ///   ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/adapterNotFound``; ``BLEError/Code/systemFailure`` if the file that may have the key can't be
    ///   read: devices would not recognise another key; `CancellationError`; the setting may still take effect.
    public func setPrivacy(_ isOn: Bool, interrupting: Bool = false) async throws {
        let core = core
        var keys: [BluetoothAddress: SecretKey] = [:]
        if isOn { keys = try await core.ownIdentityKeys() }
        let privacy = AdapterPrivacy(isOn: isOn, interrupts: interrupting, keys: keys)
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
    /// The keys of the adapters that are present, by their addresses; they are on disk when this returns.
    ///
    /// - Throws: if there may be one that can't be read.
    fileprivate func ownIdentityKeys() async throws -> [BluetoothAddress: SecretKey] {
        _ = try await storedIdentityKeys()
        await store.flush(on: timeline)
        // Another program may have been faster: then its key is the stored one, which the next run has, too.
        return try await storedIdentityKeys()
    }

    /// The same, before they are on disk: a key that is missing is made.
    private func storedIdentityKeys() async throws -> [BluetoothAddress: SecretKey] {
        let infos = joined?.members.map(\.radio.adapterInfo) ?? [radio.adapterInfo]
        let addresses = infos.compactMap(\.address)
        let (store, timeline) = (store, timeline)
        return try await withCheckedThrowingContinuation { continuation in
            store.perform(on: timeline) {
                if let obstacle = addresses.lazy.compactMap({ store.obstacle(to: $0) }).first {
                    let what = "the key by which paired devices recognise this machine can't be read"
                    return continuation.resume(throwing: BLEError.unread(what, obstacle, "set privacy"))
                }
                let keys = addresses.map { ($0, store.ownIdentityKey(of: $0, random: timeline.randomBits)) }
                continuation.resume(returning: Dictionary(keys) { $1 })
            }
        }
    }
}
