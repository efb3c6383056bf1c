public import BLEProtocol
public import BLERadio
internal import Synchronization

extension LinuxRadio {
    /// Pairs through the management socket, which requires the capability `CAP_NET_ADMIN`.
    ///
    /// The kernel gives each step 30 s, and then ends the link. It doesn't report how many digits of a passkey have
    /// been typed.
    ///
    /// Any program that listens to the kernel's questions may answer them, and a refusal counts. So if bluetoothd is on
    /// the system bus, this program acts as its agent while it pairs, over libdbus, which is loaded for that; the
    /// result then comes 3.5 s after the keys, so that the link outlasts bluetoothd's own inspection of the new bond.
    /// If it can't be the agent and bluetoothd refuses, the error states the reason and a remedy. A pairing cancelled
    /// before its result leaves no keys, neither in the kernel nor with a bluetoothd whose agent this program was; keys
    /// that the kernel makes at that moment are removed as soon as it has reported them, while the radio is open.
    ///
    /// If the program was too slow to read the kernel's events, the question or the keys may be among those lost. A
    /// pairing whose question isn't known is then ended at once; keys that aren't known are removed, and the link is
    /// dropped: no command of the kernel tells them. Both are errors that are not final: pair again.
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
                // The adapter's own obstacles come first: they can be removed without permissions.
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

    /// Not `nil` if the program lacks `CAP_NET_ADMIN`, as far as the system shows. Reads a file.
    public var pairingObstacle: BLEError? {
        let mayPair = management != nil && ProcessRights(of: adapter.kernel).has(.networkAdministration) != false
        return mayPair ? nil : adapter.missingAdministration(for: "pair", object: "on \(adapter.name)")
    }

    /// Makes the data for LE Secure Connections in the kernel, through the management socket, which requires the
    /// capability `CAP_NET_ADMIN`; the kernel doesn't support data for legacy pairing. Source: kernel,
    /// `net/bluetooth/mgmt.c`, `read_local_oob_ext_data`, `add_remote_oob_data`.
    public func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        let object = "on \(adapter.name)"
        loop.enqueue { [self] in
            guard let management, let pairingSettings else {
                let operation = "make out-of-band data"
                return sink.finish(.failure(adapter.missingAdministration(for: operation, object: object)))
            }
            let exchange = OutOfBandExchange(
                management: management,
                adapter: adapter,
                leftovers: leftovers,
                settings: pairingSettings
            )
            exchange.make { sink.finish($0) }
        }
        return RadioActivity { sink.close() }
    }

    /// Answers through the management socket, which requires the capability `CAP_NET_ADMIN`.
    ///
    /// The kernel gives each answer 30 s. It chooses the passkey to show, a new one each time, and doesn't report how
    /// many digits have been typed. Bonding and LE Secure Connections are switched on if they are off, and off again at
    /// the end.
    ///
    /// If bluetoothd is on the system bus, this program is its default agent meanwhile. A program that refuses pairings
    /// refuses when it is asked; if the kernel has paired without asking (Just Works on kernels before 6.12), the key
    /// is removed and the link dropped.
    ///
    /// If the program was too slow to read the kernel's events, the question of a pairing may be among those lost. Such
    /// a pairing is ended at once, with an error that is not final: the central can pair again.
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
        // The capability of a reception without input and output is the one that every link restores.
        let claims = reception.capability != .noInputNoOutput
        let ended = claims ? ReceivingAdapters.begin(on: adapter) : nil
        loop.enqueue { receiver.begin() }
        return RadioActivity { [self] in
            receiver.cancel()
            ended?()
            receivesPairings.withLock { $0 = false }
        }
    }

    /// Gives the kernel the keys of bonds, provided that no other program loses keys by that: bluetoothd, or another
    /// program of this library with its own bonds. There is one list for each adapter.
    ///
    /// If the program can read the list in debugfs (as root), the bonds are added to it. Otherwise it fails with
    /// ``BLEError/Code/securityFailed`` if the list belongs, or may belong, to another program, which the error names.
    /// bluetoothd also stores the keys of pairings made while it ran.
    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        @Sendable func begin() {
            let (name, count) = (adapter.name, keys.reportCount)
            let current: KernelKeyList?
            do throws(SystemError) {
                current = try KernelKeyList.current(of: name, on: adapter.kernel)
            } catch {
                // Whoever may read the list adds to it: one that is loaded without it takes other programs' keys away.
                let call = "reading the adapter's keys"
                let failure = BLEError.system(error, call: call, operation: "restore bonds", object: "of \(name)")
                return loop.enqueue { sink.finish(.failure(failure)) }
            }
            let presence = Bluetoothd.presenceByProcesses(on: adapter.kernel)
            // A list that can be read shows by itself what bluetoothd has made of it.
            let asksBus = current == nil && bus.isThere
            loop.enqueue { [self] in
                if asksBus { keys.watchBluetoothd(over: bus, loop: loop, timeline: timeline) }
                let own = bonds.filter { $0.adapter == adapter.facts?.address }
                @Sendable func load(_ presence: Bluetoothd.Presence) {
                    keys.load(
                        own,
                        on: name,
                        current: current,
                        readAfter: count,
                        bluetoothd: presence,
                        of: adapter.kernel
                    ) { [adapter] outcome in
                        sink.finish(outcome.mapError { $0.error(of: adapter) })
                    }
                }
                guard asksBus, presence == .unknown else { return load(presence) }
                Bluetoothd.findOnBus(bus, loop: loop, timeline: timeline) { load($0) }
            }
        }
        // Files are read, which must not happen on the radio's thread.
        do throws(SystemError) {
            try startThread(named: "ble-keys", on: adapter.kernel) { begin() }
        } catch {
            begin()
        }
        return RadioActivity { sink.close() }
    }

    /// Removes a peer's keys from the kernel; a running bluetoothd removes them too.
    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        loop.enqueue { [self] in
            let object = "from \(peer)"
            guard let management else {
                return sink.finish(.failure(adapter.missingAdministration(for: "unpair", object: object)))
            }
            management.submit(ManagementUnpairDevice(ManagementAddress(peer), disconnects: true)) { [self] answer in
                switch answer {
                case .success:
                    keys.remove(peer)
                    Bluetoothd.forget(peer, of: adapter.name, over: bus, loop: loop, timeline: timeline) { silence in
                        let error = silence.map { BLEError.bluetoothdMayKeep(peer, $0) }
                        sink.finish(error.map { .failure($0) } ?? .success(true))
                    }
                case .failure(let failure) where failure.status == .notPaired:
                    // Another program's list may have removed it: it must not count as there, nor be given again.
                    keys.remove(peer)
                    sink.finish(.success(false))
                case .failure(let failure):
                    sink.finish(.failure(failure.error(operation: "unpair", object: object, adapter: adapter)))
                }
            }
        }
        return RadioActivity { sink.close() }
    }
}

extension BLEError {
    /// The adapter has removed a peer's key, but bluetoothd was not reached, or this program may not ask it.
    fileprivate static func bluetoothdMayKeep(_ peer: BluetoothAddress, _ failure: BusFailure) -> BLEError {
        var error = BLEError(
            failure.isDenial ? .permissionDenied : .timedOut,
            operation: "unpair",
            object: "from \(peer)",
            cause: "the adapter has removed the key, but bluetoothd, if it runs, may still have the bond: \(failure)",
            remedy: "Run \"bluetoothctl remove \(peer)\"; otherwise bluetoothd gives the adapter the key at its next "
                + "start."
        )
        error.hasRemovedKey = true
        return error
    }
}
