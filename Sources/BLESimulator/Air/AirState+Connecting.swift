internal import BLEProtocol
internal import BLERadio

/// An attempt to connect that waits for its peer to advertise.
struct ConnectAttempt: Sendable {
    let activity: ActivityID
    let adapter: AdapterID

    /// What the central requests; `nil`: the timing of its settings.
    let parameters: ConnectionParameters?

    /// The earliest time at which the fault plan lets it succeed.
    var earliest: Duration?

    /// The fault because of which its peer doesn't answer it.
    var ignoredBy: FaultID?
}

extension AirState {
    mutating func startConnect(
        to peer: BluetoothAddress,
        on adapter: AdapterID,
        parameters: ConnectionParameters? = nil,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> ActivityID {
        let id = add(.connect(peer, result), on: adapter)
        if let error = unavailable(adapter, for: "connect", to: peer) {
            fail(id, error)
        } else if link(of: adapter, with: peer) != nil {
            fail(id, .isConnected(peer))
        } else if attempts[peer, default: []].contains(where: { $0.adapter == adapter }) {
            fail(id, .isConnecting(peer))
        } else {
            attempts[peer, default: []].append(
                ConnectAttempt(activity: id, adapter: adapter, parameters: parameters)
            )
            adapters[adapter].attempts.append(id)
            if let other = addresses[peer], other != adapter { wakeAdvertisements(of: other) }
        }
        return id
    }

    mutating func removeAttempt(_ id: ActivityID, to peer: BluetoothAddress) {
        attempts[peer]?.removeAll { $0.activity == id }
        if attempts[peer]?.isEmpty == true { attempts[peer] = nil }
        if let adapter = activities[id]?.adapter { adapters[adapter].attempts.removeAll { $0 == id } }
    }

    /// Connects the first central that wants to connect to an advertiser and can.
    mutating func answerAttempts(to peripheral: AdapterID) {
        let waiting = names(of: peripheral).flatMap { name in (attempts[name] ?? []).map { (name, $0) } }
        for (address, attempt) in waiting {
            let central = attempt.adapter
            guard central != peripheral, leads(address, from: central, to: peripheral), hears(central, peripheral),
                mayBeCentral(central)
            else { continue }
            // A peer that has not noticed the end of an earlier link accepts no second one from the same device.
            guard adapters[peripheral].links[adapters[central].address] == nil else { continue }
            guard peripheralCount(of: central) < adapters[central].settings.maximumPeripherals else {
                fail(attempt.activity, .connectionLimitExceeded(adapters[central].name, peer: address))
                continue
            }
            guard mayConnect(attempt, to: address, of: peripheral) else { continue }
            stop(attempt.activity)
            activities[attempt.activity]?.isEnding = true
            establish(attempt, peripheral: peripheral)
            return
        }
    }

    /// The number of links that an adapter has as central.
    private func peripheralCount(of adapter: AdapterID) -> Int {
        adapters[adapter].links.values.count { $0.role == .central }
    }

    /// Whether the fault plan lets an attempt succeed now; it may also fail it. What becomes of an attempt is decided
    /// once, when it could succeed first.
    private mutating func mayConnect(
        _ attempt: ConnectAttempt,
        to address: BluetoothAddress,
        of peripheral: AdapterID
    ) -> Bool {
        if let fault = attempt.ignoredBy, faults.rule(fault) != nil { return false }
        if let earliest = attempt.earliest { return now >= earliest }
        switch faults.connectionFate(central: attempt.adapter, peripheral: peripheral) {
        case .accepted: return true
        case .ignored(let fault): change(attempt, to: address) { $0.ignoredBy = fault }
        case .delayed(let delay):
            let moment = now + delay
            change(attempt, to: address) { $0.earliest = moment }
        case .refused(let reason): fail(attempt.activity, .refused(by: address, because: reason))
        }
        return false
    }

    private mutating func change(
        _ attempt: ConnectAttempt,
        to peer: BluetoothAddress,
        _ change: (inout ConnectAttempt) -> Void
    ) {
        guard var waiting = attempts[peer], let index = waiting.firstIndex(where: { $0.activity == attempt.activity })
        else { return }
        change(&waiting[index])
        attempts[peer] = waiting
    }

    private mutating func establish(_ attempt: ConnectAttempt, peripheral: AdapterID) {
        let (activity, central) = (attempt.activity, attempt.adapter)
        let settings = adapters[central].settings
        var timing = attempt.parameters.map(settings.linkTiming.with) ?? settings.linkTiming
        if !adapters[central].uses2M || !adapters[peripheral].uses2M { timing.phy = .le1M }
        let link = LinkRecord(
            id: links.nextID(),
            timing: timing,
            anchor: now + randomDuration(below: timing.connectionInterval),
            maximumPDUSize: min(settings.maximumPDUSize, adapters[peripheral].settings.maximumPDUSize),
            central: LinkEnd(adapter: central, settings, peer: name(of: peripheral, to: central)),
            peripheral: LinkEnd(
                adapter: peripheral,
                adapters[peripheral].settings,
                peer: name(of: central, to: peripheral)
            )
        )
        links.insert(link)
        adapters[central].links[adapters[peripheral].address] = LinkEndID(link: link.id, role: .central)
        adapters[peripheral].links[adapters[central].address] = LinkEndID(link: link.id, role: .peripheral)
        adapters[peripheral].peripheralLinkCount += 1
        note(link, .connected(central: adapters[central].address, peripheral: adapters[peripheral].address))
        outbox.append(.connected(activity, LinkEndID(link: link.id, role: .central)))
        if let listener = adapters[peripheral].listeners.last {
            // As on Linux, the newest listener gets the link and the others see nothing.
            outbox.append(.accepted(listener, LinkEndID(link: link.id, role: .peripheral)))
        } else {
            // Nobody listens: as on Linux, the link stays up, and nothing on it is ever answered.
            link.peripheral.isOwned = false
        }
        planFaults(on: link)
    }
}
