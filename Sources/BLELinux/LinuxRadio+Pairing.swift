public import BLEProtocol
public import BLERadio
internal import Synchronization

extension LinuxRadio {
    /// Pairs through the management socket, which takes the capability `CAP_NET_ADMIN`.
    ///
    /// The kernel gives each step 30 s, and ends the link then. It doesn't say how many digits of a passkey have been typed.
    ///
    /// Of several programs that listen to the kernel's questions any may answer, and a no counts. So, where bluetoothd is on
    /// the system bus, this program is its agent for as long as it pairs, over libdbus, which is loaded for that; the
    /// result then comes 3.5 s after the keys, so that the link outlasts bluetoothd's own look at the new bond. Where it
    /// can't be its agent and bluetoothd says no, the error says why and what mends it. One that is cancelled before its
    /// result has come leaves no keys, neither in the kernel nor with a bluetoothd whose agent this program was; keys that
    /// the kernel makes at that moment are forgotten as soon as it has told of them, while the radio is open.
    public func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        let object = "with \(peer)"
        let pairing = Result { () throws(BLEError) in
            Pairing(
                with: peer,
                in: try pairingSurroundings(for: "pair", object: object),
                asking: interview,
                failure: { [adapter] in $0.error(operation: "pair", object: object, adapter: adapter) },
                sink: sink
            )
        }
        loop.enqueue { [adapter] in
            do throws(BLEError) {
                // What is wrong with the adapter comes first: it can be mended without rights.
                _ = try adapter.usable(for: "pair", object: object)
                try pairing.get().begin()
            } catch {
                sink.finish(.failure(error))
            }
        }
        return RadioActivity {
            sink.close()
            if case .success(let pairing) = pairing { pairing.cancel() }
        }
    }

    /// Has the kernel make it, through the management socket, which takes the capability `CAP_NET_ADMIN`, for LE Secure
    /// Connections; what is made for legacy pairing it doesn't know. Source: kernel, `net/bluetooth/mgmt.c`,
    /// `read_local_oob_ext_data`, `add_remote_oob_data`.
    public func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        let object = "on \(adapter.name)"
        loop.enqueue { [self] in
            guard let management else {
                let operation = "make out-of-band data"
                return sink.finish(
                    .failure(.missingCapability(.networkAdministration, operation: operation, object: object))
                )
            }
            OutOfBandExchange(management: management, adapter: adapter).make { sink.finish($0) }
        }
        return RadioActivity { sink.close() }
    }

    /// Answers through the management socket, which takes the capability `CAP_NET_ADMIN`.
    ///
    /// The kernel gives each answer 30 s. It chooses a passkey to show itself, a new one each time, and doesn't say how many
    /// digits have been typed. Pairings that keep keys, and LE Secure Connections, are switched on where they are off, and off
    /// again in the end.
    ///
    /// Beside bluetoothd, where that is on the system bus, this program is its default agent for as long as this lasts. A
    /// program that refuses pairings says no where it is asked; where the kernel has paired without asking (Just Works on
    /// kernels before 6.12), the key is taken away and the link dropped.
    public func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        let sink = EventSink(events)
        let (operation, object) = ("receive pairings", "on \(adapter.name)")
        let surroundings: PairingSurroundings
        do throws(BLEError) {
            surroundings = try pairingSurroundings(for: operation, object: object)
        } catch {
            loop.enqueue { sink.finish(.ended(error)) }
            return RadioActivity { sink.close() }
        }
        let receiver = PairingReceiver(
            reception,
            in: surroundings,
            failure: { [adapter] in $0.error(operation: operation, object: object, adapter: adapter) },
            sink: sink
        )
        let isFirst = receivesPairings.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFirst else {
            loop.enqueue { [name = adapter.name] in sink.finish(.ended(.alreadyReceivingPairings(on: name))) }
            return RadioActivity { sink.close() }
        }
        loop.enqueue { receiver.begin() }
        return RadioActivity { [self] in
            receiver.cancel()
            receivesPairings.withLock { $0 = false }
        }
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
            let (current, presence) = (
                KernelKeyList.current(of: name, on: adapter.kernel), Bluetoothd.presenceByProcesses(on: adapter.kernel)
            )
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
            try startThread(named: "ble-keys", on: adapter.kernel) { begin() }
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
                    Bluetoothd.forget(peer, of: adapter.name, over: bus, loop: loop, timeline: timeline) {
                        sink.finish(.success(true))
                    }
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
