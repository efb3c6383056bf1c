import BLEProtocol
import Glibc

@testable import BLELinux

/// Links between the adapters, and to the devices around.
extension FakeState {
    private func adapter(at address: BluetoothAddress?) -> UInt16? {
        let up = adapters.values.filter { $0.isUp && !$0.isTaken }
        guard let address, address.rawValue != 0 else { return up.map(\.number).max() }
        return up.filter { $0.address == address }.map(\.number).min()
    }

    /// The link of an adapter with a peer, by the socket that has it.
    func link(of adapter: UInt16, with peer: BluetoothAddress) -> (socket: Int32, link: FakeLink)? {
        for (descriptor, object) in objects {
            if case .connected(let link)? = object.l2cap?.phase, !object.isHungUp, link.adapter == adapter,
                link.name.rawValue == peer.rawValue
            {
                return (descriptor, link)
            }
        }
        return nil
    }

    /// The sockets of an adapter that wait for a peer.
    func connecting(from adapter: UInt16) -> [(socket: Int32, peer: BluetoothAddress)] {
        objects.sorted { $0.key < $1.key }.compactMap { descriptor, object in
            guard case .connecting(let peer)? = object.l2cap?.phase, self.adapter(at: object.l2cap?.adapter) == adapter
            else { return nil }
            return (descriptor, peer)
        }
    }

    mutating func connect(_ descriptor: Int32, to peer: BluetoothAddress) -> Int32 {
        guard let socket = objects[descriptor]?.l2cap, let number = adapter(at: socket.adapter) else {
            return -EHOSTUNREACH
        }
        if let former = link(of: number, with: peer) {
            guard objects[former.socket]?.l2cap?.isLeft == true else { return -EBUSY }
            objects[former.socket] = nil
            objects[descriptor]?.l2cap?.phase = .connected(former.link)
            return 0
        }
        if connecting(from: number).contains(where: { $0.peer == peer }) { return -EBUSY }
        objects[descriptor]?.l2cap?.phase = .connecting(peer)
        lookForLinks()
        return -EINPROGRESS
    }

    /// Makes the links that are waited for, where their peers are here.
    mutating func lookForLinks() {
        for number in adapters.keys.sorted() {
            connectToKept(by: number)
            let kept = adapters[number]?.keptAttempts ?? [:]
            if kept.values.contains(true) { continue }
            for attempt in connecting(from: number) where kept[attempt.peer] == nil {
                establish(attempt.socket, from: number, to: attempt.peer)
            }
        }
    }

    /// The kernel connects to who was given up, and throws the link away: the controller has it.
    private mutating func connectToKept(by number: UInt16) {
        let kept = (adapters[number]?.keptAttempts ?? [:]).filter { !$0.value }.keys
        for peer in kept.sorted(by: { $0.rawValue < $1.rawValue }) where peers[peer]?.isHere == true {
            peers[peer]?.isHere = false
            adapters[number]?.keptAttempts[peer] = true
            forgetLink(of: number, to: peer)
        }
    }

    private mutating func establish(_ descriptor: Int32, from number: UInt16, to peer: BluetoothAddress) {
        guard let central = adapters[number] else { return }
        let handle = nextHandle
        var far: Int32?
        if peers[peer]?.isHere != true {
            let there = adapters.values.first {
                $0.address == peer && $0.isUp && $0.isConnectable && $0.number != number
            }
            guard let there, let listener = newestListener(of: there) else { return }
            let accepted = add(.l2cap(.init(adapter: there.address)))
            let link = FakeLink(
                adapter: there.number,
                peer: central.address,
                handle: handle,
                isCentral: false,
                far: descriptor
            )
            objects[accepted]?.l2cap?.phase = .connected(link)
            if case .listening(let backlog)? = objects[listener]?.l2cap?.phase {
                objects[listener]?.l2cap?.phase = .listening(backlog + [accepted])
            }
            far = accepted
            tellConnected(link)
        }
        nextHandle += 1
        let link = FakeLink(adapter: number, peer: peer, handle: handle, isCentral: true, far: far)
        objects[descriptor]?.l2cap?.phase = .connected(link)
        // A connection ends a discovery.
        if central.isDiscovering { endDiscovery(of: number) }
        tellConnected(link)
    }

    /// Without a public address, an adapter has a static random one. Source: kernel, `l2cap_global_fixed_chan`,
    /// `hci_copy_identity_address`.
    private func newestListener(of adapter: FakeAdapter) -> Int32? {
        let kind: BluetoothAddress.Kind = adapter.address.rawValue == 0 ? .random : .public
        return objects.filter { _, object in
            guard case .listening? = object.l2cap?.phase, let own = object.l2cap?.adapter else { return false }
            return own.kind == kind && (own.rawValue == 0 || own.rawValue == adapter.address.rawValue)
        }.max { $0.value.serial < $1.value.serial }?.key
    }

    mutating func transmit(_ octets: [UInt8], over link: FakeLink, from descriptor: Int32) {
        if let far = link.far { return deliver(octets, to: far) }
        peers[link.peer]?.received.append(octets)
        if peers[link.peer]?.echoes == true { deliver(octets, to: descriptor) }
    }

    /// Ends a link: at this end with an error, at the other one with another.
    mutating func end(_ descriptor: Int32, error: Int32 = ECONNRESET, reason: UInt8 = 3) {
        guard let object = objects[descriptor], !object.isHungUp, case .connected(let link)? = object.l2cap?.phase
        else { return }
        objects[descriptor]?.isHungUp = true
        objects[descriptor]?.error = error
        objects[descriptor]?.l2cap?.phase = .dead
        tellDisconnected(link, reason)
        dropFromBacklogs(descriptor)
        if object.l2cap?.isLeft == true { objects[descriptor] = nil }
        if let far = link.far { end(far, error: ECONNRESET, reason: 3) }
    }

    /// A link that ends before it was accepted is offered to nobody. Source: kernel, `l2cap_sock_teardown_cb`.
    private mutating func dropFromBacklogs(_ descriptor: Int32) {
        for (listener, object) in objects {
            guard case .listening(let backlog)? = object.l2cap?.phase, backlog.contains(descriptor) else { continue }
            objects[listener]?.l2cap?.phase = .listening(backlog.filter { $0 != descriptor })
            objects[descriptor] = nil
        }
    }

    /// A socket was closed, and is no object any more.
    mutating func closed(_ socket: FakeObject.L2CAPSocket) {
        switch socket.phase {
        case .connected(let link) where holdsLinks:
            leave(link)
        case .connected(let link):
            tellDisconnected(link, 2)
            if let far = link.far { end(far) }
        case .listening(let backlog):
            for accepted in backlog {
                end(accepted)
                objects[accepted] = nil
            }
        case .connecting(let peer):
            if let number = adapter(at: socket.adapter) {
                if forgetsLinks { forgetLink(of: number, to: peer) }
                let kept = (adapters[number]?.keptAttempts ?? [:]).keys
                // Nobody with the other kind of the address is heard.
                if kept.contains(where: { $0.rawValue == peer.rawValue }) { return }
                if keepsGivenUpAttempts {
                    adapters[number]?.keptAttempts[peer] = false
                    return
                }
                if tellsVainAttempts { tell(number, 0x0D, ManagementAddress(peer).octets + [0x0E]) }
            }
        case .fresh, .dead: break
        }
    }

    private mutating func forgetLink(of number: UInt16, to peer: BluetoothAddress) {
        let link = FakeLink(adapter: number, peer: peer, handle: nextHandle, isCentral: true, far: nil)
        nextHandle += 1
        adapters[number]?.forgotten[link.handle] = peer
        reportConnected(link)
    }

    /// A program that had a link is gone; the kernel still holds the link.
    mutating func leave(_ link: FakeLink) {
        _ = add(.l2cap(.init(phase: .connected(link), isLeft: true)))
    }

    /// An adapter and a device have a link now, which is told, and which no program here has.
    mutating func makeLink(of number: UInt16, with peer: BluetoothAddress = .example, isCentral: Bool) {
        let link = FakeLink(adapter: number, peer: peer, handle: 64, isCentral: isCentral, far: nil)
        leave(link)
        tellConnected(link)
    }

    // MARK: - Security

    /// The peer of a link tells its identity. Source: kernel, `net/bluetooth/smp.c`, `smp_notify_keys`.
    mutating func tellIdentity(_ identity: BluetoothAddress, of peer: BluetoothAddress, to number: UInt16) {
        guard let (socket, link) = link(of: number, with: peer) else { return }
        var renamed = link
        renamed.identity = identity
        objects[socket]?.l2cap?.phase = .connected(renamed)
        let key = Array(1...16) as [UInt8]
        tell(number, 0x18, [1] + peer.littleEndianOctets + ManagementAddress(identity).octets + key)
    }

    /// A peer's level is raised with its key, where there is one, or by pairing without questions.
    mutating func requireSecurity(_ level: UInt8, of descriptor: Int32) -> Int32 {
        guard let socket = objects[descriptor]?.l2cap else { return -EBADF }
        guard case .connected(let link) = socket.phase else { return 0 }
        guard level > socket.level else { return -EINVAL }
        switch peers[link.peer]?.pairing {
        case .refuses?:
            objects[descriptor]?.l2cap?.isSecuring = true
            tell(link.adapter, 0x11, ManagementAddress(link.name).octets + [5])
        default:
            objects[descriptor]?.l2cap?.level = 2
        }
        return 0
    }

    /// What the kernel does at the demand of a channel that is to be better: it pairs.
    mutating func demandSecurity(of peer: BluetoothAddress, by descriptor: Int32) -> Int32 {
        guard let number = adapter(at: objects[descriptor]?.l2cap?.adapter) else { return -EHOSTUNREACH }
        guard link(of: number, with: peer) != nil else { return -EINPROGRESS }
        pair(ManagementAddress(peer), on: number, for: nil)
        return -EINPROGRESS
    }

    // MARK: - Advertisements

    /// Tells an adapter of everybody it hears.
    mutating func hear(_ number: UInt16) {
        for peer in peers.values.sorted(by: { $0.address.rawValue < $1.address.rawValue }) where peer.isHere {
            report(peer.address, peer.data, isConnectable: true, to: number)
        }
        for other in adapters.values.sorted(by: { $0.number < $1.number }) where other.number != number && other.isUp {
            for instance in other.instances.values where instance.isOnAir {
                report(other.address, instance.data, isConnectable: instance.flags & 1 != 0, to: number)
            }
        }
    }

    /// Somebody advertises something new.
    mutating func hearEverywhere() {
        for number in adapters.keys.sorted() { hear(number) }
        lookForLinks()
    }

    private mutating func report(
        _ address: BluetoothAddress,
        _ data: [UInt8],
        isConnectable: Bool,
        to number: UInt16
    ) {
        guard let adapter = adapters[number], adapter.isUp else { return }
        let found =
            ManagementAddress(address).octets + [0xC4] + [isConnectable ? 0 : 4, 0, 0, 0]
            + [UInt8(data.count), 0] + data
        if adapter.isDiscovering { tell(number, 0x12, found) }
        if !adapter.monitors.isEmpty { tell(number, 0x2F, [0, 0] + found) }
        guard adapter.isScanningByHCI else { return }
        if adapters[number]?.reportedByHCI?.insert(address).inserted == false { return }
        let type: UInt8 = isConnectable ? 0 : 3
        let report: [UInt8] =
            [2, 1, type, address.kind == .public ? 0 : 1] + address.littleEndianOctets
            + [UInt8(data.count)] + data + [0xC4]
        tellRaw(number, [4, 0x3E, UInt8(report.count)] + report, scans: true)
    }
}

extension FakeAdapter {
    var isConnectable: Bool { instances.values.contains { $0.isOnAir && $0.flags & 1 != 0 } }
}

extension ManagementAddress {
    var octets: [UInt8] {
        var writer = ByteWriter()
        writer.managementAddress(self)
        return writer.bytes
    }
}
