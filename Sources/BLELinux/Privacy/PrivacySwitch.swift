internal import BLEProtocol
internal import BLERadio

/// Switches an adapter's resolvable private addresses on or off in the kernel; the adapter is off meanwhile.
final class PrivacySwitch: Sendable {
    private let privacy: AdapterPrivacy
    private let facts: AdapterFacts
    private let management: ManagementSocket
    private let adapter: LinuxAdapter
    private let bluetoothd: Bluetoothd.Presence
    private let leftovers: Leftovers
    private let note: PrivacyNote
    private let loop: EventLoop
    private let timeline: any Timeline
    private let watch: AdapterWatch?
    private let sink: EventSink<Result<Void, BLEError>>

    init(
        _ privacy: AdapterPrivacy,
        of facts: AdapterFacts,
        _ management: ManagementSocket,
        _ adapter: LinuxAdapter,
        bluetoothd: Bluetoothd.Presence,
        leftovers: Leftovers,
        loop: EventLoop,
        timeline: any Timeline,
        watch: AdapterWatch?,
        sink: EventSink<Result<Void, BLEError>>
    ) {
        self.privacy = privacy
        self.facts = facts
        self.management = management
        self.adapter = adapter
        self.bluetoothd = bluetoothd
        self.leftovers = leftovers
        note = PrivacyNote(of: facts, on: adapter.kernel)
        self.loop = loop
        self.timeline = timeline
        self.watch = watch
        self.sink = sink
    }

    /// Starts, on the loop's thread; runs to its end even if nobody waits for it.
    func begin() {
        guard !privacy.isOn || key != nil else {
            return sink.finish(.failure(.privacyLacksKey(adapter.name, facts.address)))
        }
        management.submit(ManagementReadInformation()) { [self] answer in
            switch answer {
            case .failure(let failure): fail(failure)
            case .success(let information): decide(information)
            }
        }
    }

    private var key: SecretKey? { privacy.keys[facts.address] }

    private func decide(_ information: ManagementReadInformation.Response) {
        guard information.supported.contains(.privacy) else {
            return sink.finish(.failure(.hasNoPrivacy(adapter.name, operation: "set privacy")))
        }
        let isAsWished = information.current.contains(.privacy) == privacy.isOn
        // If bluetoothd runs, the key is its own affair; otherwise a key that isn't ours belongs to another program.
        if isAsWished, !privacy.isOn || bluetoothd == .here || note.tells(of: key) { return sink.finish(.success(())) }
        guard bluetoothd != .here else {
            return sink.finish(.failure(.privacyIsBluetoothds(adapter.name, isOn: privacy.isOn)))
        }
        guard information.current.contains(.powered) else { return set { [self] in sink.finish($0) } }
        guard !privacy.interrupts else { return switchOff() }
        leftovers.clear(of: facts, through: management) { [self] in lookForUse() }
    }

    /// Switches the adapter off if nothing uses it, as far as the kernel shows.
    private func lookForUse() {
        management.submit(ManagementGetConnections()) { [self] answer in
            if case .failure(let failure) = answer { return fail(failure) }
            let peers = ((try? answer.get())?.addresses ?? []).map { $0.lowEnergy.map { "\($0)" } ?? "\($0)" }
            guard peers.isEmpty else {
                let what = peers.count == 1 ? "the link with" : "the links with"
                return isUsed(for: "\(what) \(peers.sorted().joined(separator: ", "))")
            }
            // The kernel doesn't list instances with numbers higher than their count, as ours are.
            let held = leftovers.held(on: facts).map(\.kind)
            management.submit(ManagementReadAdvertisingFeatures()) { [self] answer in
                let isListed = (try? answer.get())?.instances.isEmpty == false
                if isListed || held.contains(.advertisement) { return isUsed(for: "its advertising") }
                management.submit(ManagementReadMonitorFeatures()) { [self] answer in
                    let isListed = (try? answer.get())?.handles.isEmpty == false
                    if isListed || held.contains(.monitor) { return isUsed(for: "a passive scan") }
                    switchOff()
                }
            }
        }
    }

    private func isUsed(for use: String) {
        sink.finish(.failure(.privacyWouldInterrupt(use, of: adapter.name)))
    }

    private func switchOff() {
        let off = PowerBreak(
            facts: facts,
            management: management,
            adapter: adapter,
            leftovers: leftovers,
            loop: loop,
            timeline: timeline,
            watch: watch
        )
        off.begin(doing: { [self] done in set(then: done) }, { [self] outcome in sink.finish(outcome) })
    }

    /// The kernel forgets the key when privacy is switched off.
    private func set(then proceed: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let key = privacy.isOn ? key : nil
        let zero = [UInt8](repeating: 0, count: 16)
        guard let octets = key ?? SecretKey(octets: zero) else { preconditionFailure("a key has sixteen octets") }
        management.submit(ManagementSetPrivacy(privacy.isOn ? .on : .off, identityKey: octets)) { [self] answer in
            if case .success = answer { note.write(key) }
            proceed(answer.map { _ in }.mapError { error($0) })
        }
    }

    private func fail(_ failure: ManagementFailure) { sink.finish(.failure(error(failure))) }

    private func error(_ failure: ManagementFailure) -> BLEError {
        failure.error(operation: "set privacy", object: adapter.name, adapter: adapter)
    }
}

extension BLEError {
    /// The keys were made for the adapters that were there when it was begun.
    fileprivate static func privacyLacksKey(_ adapter: String, _ address: BluetoothAddress) -> BLEError {
        BLEError(
            .adapterNotReady,
            operation: "set privacy",
            object: adapter,
            cause: "there is no key for the address \(address): the adapter was plugged in, or got that address, a "
                + "moment ago",
            remedy: "Try again."
        )
    }

    /// bluetoothd sets privacy from its own configuration, whenever it starts and the adapter is off.
    static func privacyIsBluetoothds(_ adapter: String, isOn: Bool) -> BLEError {
        BLEError(
            .notSupported,
            operation: "set privacy",
            object: adapter,
            cause: "bluetoothd is running, and sets it for all adapters from its own configuration",
            remedy:
                "Write \"Privacy = \(isOn ? "device" : "off")\" below [General] in /etc/bluetooth/main.conf and run "
                + "\"sudo systemctl restart bluetooth\"; or stop bluetoothd with \"sudo systemctl stop bluetooth\"."
        )
    }
}
