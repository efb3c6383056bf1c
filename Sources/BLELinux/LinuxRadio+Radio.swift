public import BLEProtocol
public import BLERadio
internal import Synchronization

extension LinuxRadio {
    public var adapterInfo: AdapterInfo { adapter.info }

    public func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        watch.observe(events)
    }

    /// Scans through the management socket or, without permission for that, through raw HCI packets.
    ///
    /// A scan that requests scan responses reveals an address. Through the management socket the kernel chooses it.
    /// With raw HCI packets it is the public one, unless the adapter uses privacy or a static random address: then it
    /// is the random address that the kernel set last, and if it has set none, the scan is passive.
    ///
    /// While another program such as bluetoothd discovers, its discovery is shared: its results are reported here, as
    /// far as that program's own filter passes them, and discovery continues when it stops. A passive scan, and an
    /// active one for every advertisement, register an advertisement monitor while they run. While bluetoothd runs,
    /// discovery rests for 6.5 seconds after each ten seconds, so that bluetoothd has a turn; meanwhile a monitor
    /// listens, unless the controller matches patterns itself.
    public func scan(
        _ request: ScanRequest,
        events: @escaping @Sendable (ScanEvent) -> Void
    ) -> RadioActivity {
        let sink = EventSink(events)
        let isFirst = isScanning.withLock { isScanning in
            defer { isScanning = true }
            return !isScanning
        }
        guard isFirst else {
            loop.enqueue { [name = adapter.name] in sink.finish(.failed(.alreadyScanning(name))) }
            return RadioActivity { sink.close() }
        }
        let scan = LinuxScan(request, on: self, sink: sink)
        loop.enqueue { scan.begin() }
        return RadioActivity { scan.cancel() }
    }

    /// Connects, without a time limit of the kernel; closing the attempt's socket cancels it.
    ///
    /// With the capability `CAP_NET_ADMIN` it interrupts a running discovery, which its program then resumes, and sets
    /// how long the kernel waits for the answer of a peer that it has received: 3 s for most, 11 s for one that may
    /// advertise rarely. That is a default of the adapter, for all programs.
    ///
    /// The kernel keeps a link for two seconds after its program has ended. With the capability such a link is ended
    /// first; without it, and on Linux 6.1, it is taken over. A link that another program uses only for channels other
    /// than the attribute channel looks the same, and is ended, too.
    public func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, parameters: nil, result: result)
    }

    /// Not `nil` while a central is connected to an adapter whose controller, according to the kernel, can't be both at
    /// once; the kernel counts a controller with a faulty self-description as one that can't. Nor is it `nil` while the
    /// kernel keeps an attempt to connect that this program has given up, as Linux 6.12 rarely does.
    public var connectObstacle: BLEError? { excludedRoles.connectObstacle ?? stuck.obstacle }

    /// Connects with these parameters, or with ``ConnectionParameters/balanced``, if this program has `CAP_NET_ADMIN`;
    /// otherwise with the kernel's default: an interval of 30 to 50 ms, and 420 ms until a silent link is lost.
    public func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let attempt = ConnectAttempt(
            to: peer,
            from: adapter,
            peers: connecting,
            settling: settling,
            forgotten: forgotten,
            stuck: stuck,
            excludedRoles: excludedRoles,
            loop: loop,
            environment: self,
            prepare: { [weak self] in
                self?.prepareConnection(to: peer, parameters ?? .balanced)
                return self?.showCapability(to: peer) ?? {}
            },
            result: { [weak self] outcome in
                if case .success = outcome { self?.capabilityIsUsed(on: peer) }
                result(outcome)
            }
        )
        settling.whenSettled(peer) { attempt.begin() }
        // The report doesn't say whose link it was, and a program without permissions never learned that there was one.
        let ends = monitor.observeEnds { [connecting, excludedRoles, loop, settling] in
            guard excludedRoles.areKnown, attempt.isUnderWay else { return }
            connecting.listenAnew {
                loop.enqueue {
                    guard attempt.takeBack() else { return }
                    settling.whenSettled(peer) { attempt.begin() }
                }
            }
        }
        return RadioActivity {
            ends.cancel()
            attempt.cancel()
        }
    }

    /// Whether the kernel has a link to a device. It needs no permission, and compares only the octets.
    public func hasLink(to peer: BluetoothAddress) -> Bool { adapter.isConnected(to: peer) ?? false }

    /// Whether the kernel has a link, of any program, Bluetooth Classic's among them. It needs no permission.
    public var isLinked: Bool {
        // Before a connection is made, the kernel lists it with the handle 0 or with one that controllers don't use.
        adapter.isLinked || adapter.handles?.contains { (1...0x0EFF).contains($0) } == true
    }

    /// Accepts links on the attribute channel. Of several listening programs, the one that began last gets the link. If
    /// it is this one, bluetoothd's own server gets none; if another began later, this one begins again as soon as the
    /// management socket shows it. A second program of this library on the same adapter fails with
    /// ``BLEError/Code/busy``.
    public func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        let listener = LinkListener(on: self, sink: EventSink(events))
        loop.enqueue { listener.begin() }
        return RadioActivity { listener.cancel() }
    }

    /// Advertises. If another program removes the advertisement, it is put back, unless that happens repeatedly;
    /// leftovers of a killed program of this library are removed first.
    ///
    /// Fields that don't fit into 31 octets and the 31 of the scan response require a controller with extended
    /// advertising, and are sent in one piece, which Bluetooth 4 scanners don't receive. A change replaces the data of
    /// the kernel's instance, or the instance if it begins or ends to need one piece; if centrals can't connect, Linux
    /// advertises with a random address, a new one each time.
    public func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        let advertisement = Advertisement(request, on: self, sink: EventSink(events))
        loop.enqueue { advertisement.begin() }
        return RadioActivity { [loop] request, result in
            loop.enqueue { advertisement.change(to: request, result) }
        } onCancel: {
            advertisement.cancel()
        }
    }
}

extension LinuxRadio: LinkEnvironment {
    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void) {
        guard let management else { return result(false) }
        management.submit(ManagementDisconnect(ManagementAddress(peer))) { [security] answer in
            // It may be a connection whose peer has just told its identity.
            guard answer.failure != nil, let identity = security.identity(of: peer) else {
                return result(answer.failure == nil)
            }
            management.submit(ManagementDisconnect(ManagementAddress(identity))) { result($0.failure == nil) }
        }
    }

    /// The address by which the kernel knows the connection of a link's socket: for 0.2 s after a peer has told its
    /// identity, the socket still has the former address, and the connection has the identity. Source: kernel,
    /// `net/bluetooth/smp.c`, `smp_notify_keys`, `ID_ADDR_TIMEOUT`.
    ///
    /// - Parameter peer: the peer's address, as the socket has it.
    func connectionName(of peer: BluetoothAddress) -> BluetoothAddress { security.identity(of: peer) ?? peer }

    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void) {
        guard let management else { return loop.enqueue { result(nil) } }
        let address = ManagementAddress(connectionName(of: peer))
        management.submit(ManagementGetConnectionInformation(address)) { answer in
            result((try? answer.get())?.rssi)
        }
    }

    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError?) -> Void
    ) -> RadioActivity {
        let (failures, questions) = (security.watch(connectionName(of: peer), failed), unasked.attend(peer))
        return RadioActivity {
            failures.cancel()
            questions.cancel()
        }
    }

    func watchBonds(of peer: BluetoothAddress, _ made: @escaping @Sendable (Bond) -> Void) -> RadioActivity {
        unasked.watchBonds(of: peer, made)
    }

    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        security.watchKeys(of: connectionName(of: peer), made)
    }

    func hasKey(of peer: BluetoothAddress) -> Bool { keys.isKnown(connectionName(of: peer)) }

    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level? {
        let identity = connectionName(of: peer)
        let least: LinkSecurity.Level? = keys.isAuthenticated(identity) ? .authenticated : nil
        // Nor may another program's key of less stand in for an authenticated bond.
        return keys.level(of: identity).map { max($0, least ?? $0) } ?? least
    }

    func hasForeignKey(of peer: BluetoothAddress) -> Bool {
        keys.isContested(peer) || security.identity(of: peer).map(keys.isContested) == true
    }

    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    ) {
        guard let management else { return result(nil) }
        // Its answer comes after the events of what happened before.
        management.submit(ManagementGetConnections()) { [security] _ in result(security.end(ofLinkTo: peer)) }
    }

    var isAdapterUp: Bool { adapter.isUp }
}
