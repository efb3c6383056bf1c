public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// Pairs through the management socket, which takes the capability `CAP_NET_ADMIN`.
    ///
    /// Of several programs that listen to the kernel's questions any may answer, and a no counts. So, where bluetoothd is on
    /// the system bus, this program is its agent for as long as it pairs, over libdbus, which is loaded for that; the
    /// result then comes 3.5 s after the keys, so that the link outlasts bluetoothd's own look at the new bond. Where it
    /// can't be its agent and bluetoothd says no, the error says why and what mends it.
    public func pair(
        with peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let pairing = Pairing(with: peer, on: self, sink: EventSink(result))
        loop.enqueue { pairing.begin() }
        return RadioActivity { pairing.cancel() }
    }

    /// Gives the kernel the keys of bonds, where nobody else loses keys by that: bluetoothd, or another program of this
    /// library with bonds of its own. There is one list for each adapter.
    ///
    /// Where debugfs shows the list to the program (to root), the bonds are added to it. Otherwise it fails with
    /// ``BLEError/Code/securityFailed`` where the list is, or may be, somebody else's, and the error says whose. Keys
    /// that a pairing has made while bluetoothd ran are kept by bluetoothd too.
    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        @Sendable func begin() {
            let name = adapter.name
            let (current, presence) = (KernelKeyList.current(of: name), Bluetoothd.presenceByProcesses)
            let mustAsk = current == nil && presence == .unknown && bus.isThere
            loop.enqueue { [self] in
                let own = bonds.filter { $0.adapter == adapter.facts?.address }
                @Sendable func load(_ presence: Bluetoothd.Presence) {
                    keys.load(own, on: name, current: current, bluetoothd: presence) { [adapter] outcome in
                        sink.finish(outcome.mapError { $0.error(of: adapter) })
                    }
                }
                guard mustAsk else { return load(presence) }
                Bluetoothd.findOnBus(bus, loop: loop, timeline: timeline) { load($0) }
            }
        }
        // Files are read, which is not for the radio's thread.
        do throws(SystemError) {
            try startThread(named: "ble-keys") { begin() }
        } catch {
            begin()
        }
        return RadioActivity { sink.close() }
    }

    /// Has the kernel forget a peer's keys; bluetoothd, where it runs, forgets them too.
    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        loop.enqueue { [self] in
            let object = "from \(peer)"
            guard let management else {
                return sink.finish(
                    .failure(.missingCapability(.networkAdministration, operation: "unpair", object: object))
                )
            }
            management.submit(ManagementUnpairDevice(ManagementAddress(peer), disconnects: true)) { [self] answer in
                switch answer {
                case .success:
                    keys.remove(peer)
                    sink.finish(.success(true))
                case .failure(let failure) where failure.status == .notPaired:
                    sink.finish(.success(false))
                case .failure(let failure):
                    sink.finish(.failure(failure.error(operation: "unpair", object: object, adapter: adapter)))
                }
            }
        }
        return RadioActivity { sink.close() }
    }
}
