internal import BLEProtocol
internal import BLERadio

/// One end of a link, as its user holds it. The air keeps the state.
final class SimulatedLink: ATTLink {
    let peer: BluetoothAddress
    let local: BluetoothAddress?
    let maximumPDUSize: Int

    private let core: AirCore
    private let id: LinkEndID

    init(core: AirCore, id: LinkEndID) {
        self.core = core
        self.id = id
        (peer, local, maximumPDUSize) = core.perform { $0.handOver(id) }
    }

    deinit {
        // A link that was never started has no owner now: it closes.
        core.perform { $0.letGo(id) }
    }

    var isResumed: Bool { false }

    var security: LinkSecurity { core.perform { $0.security(of: id) } }

    var hasKey: Bool { core.perform { $0.hasKey(id) } }

    func start(_ receiver: any ATTLinkReceiver) { core.perform { $0.start(id, receiver) } }

    func send(_ pdu: [UInt8]) -> SendResult { core.perform { $0.send(pdu, from: id) } }

    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        core.perform { $0.encrypt(id, with: peer, result) }
    }

    func raise(
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let isGivenUp = Ending<Void>()
        let activity = core.perform { state in
            state.raise(id, with: peer, to: level, asking: interview) { if !isGivenUp.hasEnded { result($0) } }
        }
        return RadioActivity { [core] in
            isGivenUp.end()
            if let activity { _ = core.perform { $0.cancel(activity) } }
        }
    }

    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        let observer = core.perform { $0.links[id.link]?.securityObservers.add(changed) }
        return RadioActivity { [core, id] in
            guard let observer else { return }
            _ = core.perform { $0.links[id.link]?.securityObservers.remove(observer) }
        }
    }

    func disconnect() { core.perform { $0.disconnect(id) } }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { core.perform { $0.readRSSI(of: id, result) } }
}

extension SimulatedLink {
    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        core.perform { $0.readConditions(of: id, result) }
    }

    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        let observer = core.perform { $0.observeConditions(of: id, events) }
        return RadioActivity { [core, id] in _ = core.perform { $0.removeConditionObserver(observer, of: id) } }
    }

    func request(_ parameters: ConnectionParameters, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        core.perform { $0.request(parameters, of: id) }
        result(.success(()))
    }
}

extension AirState {
    /// An owner gets the object of this end. Returns what doesn't change: the peer, this side's address, and the size
    /// of the largest PDU.
    fileprivate func handOver(_ id: LinkEndID) -> (BluetoothAddress, BluetoothAddress?, Int) {
        guard let link = links[id.link] else { preconditionFailure("a link is handed over before it is forgotten") }
        link[id.role].isHeld = true
        let near = adapters[link[id.role].adapter]
        return (link[id.role].peer, near.address, link.maximumPDUSize)
    }

    fileprivate mutating func raise(
        _ id: LinkEndID,
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> ActivityID? {
        guard let link = links[id.link] else {
            // It is over, and both ends have been told.
            outbox.append(.done { result(.failure(.notConnected("pair", peer))) })
            return nil
        }
        let adapter = link[id.role].adapter
        return startPairing(with: peer, on: adapter, asking: interview, anewFor: level, result: result)
    }

    fileprivate mutating func readRSSI(of id: LinkEndID, _ result: @escaping @Sendable (Int8?) -> Void) {
        var level: Int8?
        if let link = links[id.link], !link.isSilent, !link[id.role].isOver {
            level = measure(link.central.adapter, link.peripheral.adapter)
        }
        outbox.append(.rssi(level, result))
    }
}
