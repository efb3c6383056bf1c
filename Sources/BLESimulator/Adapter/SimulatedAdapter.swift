public import BLEProtocol
public import BLERadio

/// One adapter of a ``SimulatedAir``: a complete radio in both roles, with controls for tests.
///
/// Scans receive every advertiser in range; filtering by ``ScanRequest/services`` is left to the caller.
public final class SimulatedAdapter: Sendable {
    /// The system's name for it.
    public let name: String

    /// Its address.
    public let address: BluetoothAddress

    let core: AirCore
    let id: AdapterID

    init(core: AirCore, id: AdapterID, name: String, address: BluetoothAddress) {
        self.core = core
        self.id = id
        self.name = name
        self.address = address
    }

    /// How it behaves; a change applies to activities that begin after it.
    public var settings: AdapterSettings {
        get { core.perform { $0.adapters[id].settings } }
        set { core.perform { $0.adapters[id].settings = newValue } }
    }

    /// What it is doing now; a test can assert that it `isIdle` at the end.
    public var activity: AdapterActivity { core.perform { $0.activity(of: id) } }

    /// Whether it can be used.
    public var state: AdapterInfo.State { core.perform { $0.adapters[id].state } }

    // MARK: - Switches

    /// Switches it on, whatever its state was; an unplugged one is plugged in.
    public func powerOn() { setState(.poweredOn) }

    /// Switches it off: all its activities fail with ``BLEError/Code/adapterPoweredOff``, and its links end with
    /// ``DisconnectReason/Kind/adapterOff``, for the peers in range with ``DisconnectReason/Kind/closedByPeer``.
    public func powerOff() { setState(.poweredOff) }

    /// Blocks it as rfkill does: everything fails with ``BLEError/Code/adapterBlocked``, and the peers of its links
    /// receive nothing more, until their supervision timeout.
    public func block() { setState(.blocked) }

    /// Unplugs it: everything fails with ``BLEError/Code/adapterNotFound``, and the peers of its links receive nothing
    /// more, until their supervision timeout.
    public func unplug() { setState(.absent) }

    /// Plugs it in again, switched on.
    public func plugIn() { setState(.poweredOn) }

    /// Puts it into any state. A starting adapter (``AdapterInfo/State/resetting``) forgets its links like one that
    /// hangs: the peers receive nothing more, until their supervision timeout. Its activities fail with the error of
    /// the state.
    public func setState(_ state: AdapterInfo.State) {
        core.perform {
            $0.adapters[id].isSwitchedOffHere = false
            $0.setState(state, of: id)
        }
    }
}

extension SimulatedAdapter {
    /// Requests other connection parameters from a connected central, as its peripheral. The central's system grants
    /// them automatically, as Linux does; the central's program can limit them with its
    /// ``ConnectionParameters/Limits``.
    ///
    /// - Returns: whether there is such a link.
    @discardableResult
    public func request(_ parameters: ConnectionParameters, from central: SimulatedAdapter) -> Bool {
        core.perform { $0.request(parameters, from: id, to: central.id) }
    }
}

// MARK: - Radio

extension SimulatedAdapter: Radio {
    public var timeline: any Timeline { core.timeline }

    public var adapterInfo: AdapterInfo { core.perform { $0.adapters[id].info } }

    public func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        activity(core.perform { $0.observe(id, events: events) })
    }

    public func scan(
        _ request: ScanRequest,
        events: @escaping @Sendable (ScanEvent) -> Void
    ) -> RadioActivity {
        activity(core.perform { $0.startScan(request, on: id, events: events) })
    }

    public func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, parameters: nil, result: result)
    }

    /// Connects; without parameters, it uses the timing of its ``AdapterSettings/linkTiming``.
    public func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        activity(core.perform { $0.startConnect(to: peer, on: id, parameters: parameters, result: result) })
    }

    /// Whether the adapter has a link to a device; compares the octets alone, as Linux does.
    public func hasLink(to peer: BluetoothAddress) -> Bool {
        core.perform { $0.adapters[id].links.keys.contains { $0.rawValue == peer.rawValue } }
    }

    /// Whether the adapter has any link, in either role.
    public var isLinked: Bool { core.perform { !$0.adapters[id].links.isEmpty } }

    /// Not `nil` while a central is connected to an adapter whose ``AdapterSettings/combinesRoles`` is `false`.
    public var connectObstacle: BLEError? { core.perform { $0.connectObstacle(of: id) } }

    public func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        activity(core.perform { $0.startListening(on: id, events: events) })
    }

    public func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        let activity = core.perform { $0.startAdvertisement(request, on: id, events: events) }
        return RadioActivity { [core] request, result in
            core.perform { $0.changeAdvertisement(activity, to: request, result) }
        } onCancel: { [core] in
            _ = core.perform { $0.cancel(activity) }
        }
    }

    /// Pairs as the peer's ``AdapterSettings/pairing`` says, if the peer accepts pairing.
    public func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        activity(core.perform { $0.startPairing(with: peer, on: id, asking: interview, result: result) })
    }

    /// Answers the pairings of centrals, if ``AdapterSettings/pairing`` leaves that to the program:
    /// ``PairingManner/justWorks``.
    public func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        activity(core.perform { $0.receivePairings(reception, on: id, events: events) })
    }

    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        core.perform { $0.restore(bonds, on: id) }
        return timeline.schedule(after: .zero) { result(.success(())) }
    }

    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { $0.unpair(peer, on: id) }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// Loses the keys of all bonds, like a device after a factory reset.
    public func forgetBonds() {
        core.perform { ($0.adapters[id].keys, $0.adapters[id].identityKeys) = ([:], [:]) }
    }

    private func activity(_ id: ActivityID) -> RadioActivity {
        RadioActivity { [core] in _ = core.perform { $0.cancel(id) } }
    }
}
