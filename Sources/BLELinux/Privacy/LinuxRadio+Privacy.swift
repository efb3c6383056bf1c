public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// Reads the setting from the kernel through the management socket, which needs no permission.
    public func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        let sink = EventSink(result)
        let (operation, name) = ("read privacy", adapter.name)
        loop.enqueue { [self] in
            guard adapter.facts != nil else {
                return sink.finish(.failure(adapter.whyUnusable(for: operation, object: name)))
            }
            guard let management else {
                return sink.finish(.failure(adapter.missingAdministration(for: operation, object: name)))
            }
            management.submit(ManagementReadInformation()) { [adapter] answer in
                sink.finish(
                    answer.map { $0.current.contains(.privacy) }
                        .mapError { $0.error(operation: operation, object: name, adapter: adapter) }
                )
            }
        }
        return RadioActivity { sink.close() }
    }

    /// Makes the kernel use resolvable private addresses in its mode 1: always, even while the adapter is discoverable.
    /// It requires the capability `CAP_NET_ADMIN`.
    ///
    /// The kernel accepts the setting only while the adapter is off. An adapter that is on is switched off and on,
    /// unless it has a link, an advertisement or an advertisement monitor. If bluetoothd runs, which sets this from its
    /// own configuration, it fails with ``BLEError/Code/notSupported``, unless the setting is already as requested. The
    /// kernel makes a new address every 15 minutes (`rpa_timeout` in debugfs), but not while it advertises or connects.
    /// Its keys outlast the switching. Source: kernel, `net/bluetooth/mgmt.c`, `set_privacy`; `hci_sync.c`,
    /// `hci_set_random_addr_sync`.
    public func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink<Result<Void, BLEError>> { [watch] outcome in
            watch.look()
            result(outcome)
        }
        // Also if nobody waits for it any more.
        let told = EventSink(powerWork.begin { (outcome: Result<Void, BLEError>) in sink.finish(outcome) })
        let presence = Bluetoothd.presenceByProcesses(on: adapter.kernel)
        loop.enqueue { [self] in
            guard let facts = adapter.facts else {
                let error = adapter.whyUnusable(for: "set privacy", object: adapter.name)
                return told.finish(.failure(error))
            }
            guard let management else {
                return told.finish(.failure(adapter.missingAdministration(for: "set privacy", object: adapter.name)))
            }
            let begin: @Sendable (Bluetoothd.Presence) -> Void = { [self] presence in
                PrivacySwitch(
                    privacy,
                    of: facts,
                    management,
                    adapter,
                    bluetoothd: presence,
                    leftovers: leftovers,
                    loop: loop,
                    timeline: timeline,
                    watch: watch,
                    sink: told
                ).begin()
            }
            guard presence == .unknown, bus.isThere else { return begin(presence) }
            Bluetoothd.findOnBus(bus, loop: loop, timeline: timeline, begin)
        }
        return RadioActivity { sink.close() }
    }
}
