import BLEProtocol
import Glibc

@testable import BLELinux

extension FakeKernel {
    func listAdapters(_ descriptor: Int32, into numbers: inout [UInt16]) -> Int32 {
        let outcome = with { state -> (error: Int32?, numbers: [UInt16]) in
            if let error = state.enter(.adapterList) { return (error, []) }
            return (nil, state.adapters.keys.sorted(by: >))
        }
        // The last ones have no room.
        let told = outcome.numbers.prefix(numbers.count)
        for (place, number) in told.enumerated() { numbers[place] = number }
        return outcome.error ?? Int32(told.count)
    }

    func readAdapter(_ descriptor: Int32, _ facts: inout AdapterFacts) -> Int32 {
        let number = facts.number
        let outcome = with { state -> (error: Int32, facts: AdapterFacts?) in
            if let error = state.enter(.adapterInfo) { return (error, nil) }
            guard let adapter = state.adapters[number] else { return (-ENODEV, nil) }
            let facts = AdapterFacts(
                number: number,
                address: adapter.address,
                flags: adapter.flags,
                features: adapter.features
            )
            return (0, facts)
        }
        if let told = outcome.facts { facts = told }
        return outcome.error
    }

    func closeAdapter(_ descriptor: Int32, _ number: UInt16) -> Int32 {
        with { state in
            if let error = state.enter(.adapterDown) { return error }
            state.switchOff(number, by: nil)
            return 0
        }
    }

    func resetUSBDevice(_ descriptor: Int32) -> Int32 { with { $0.enter(.usbReset) ?? 0 } }

    func isConnected(_ descriptor: Int32, _ adapter: UInt16, _ peer: BluetoothAddress) -> Int32 {
        with { state in
            if let error = state.enter(.connectionList) { return error }
            return state.link(of: adapter, with: peer) == nil ? 0 : 1
        }
    }

    func listPeers(
        _ descriptor: Int32,
        _ adapter: UInt16,
        asCentral isCentral: Bool,
        into peers: inout [BluetoothAddress]
    ) -> Int32 {
        let outcome = with { state -> (error: Int32, peers: [BluetoothAddress]) in
            if let error = state.enter(.connectionList) { return (error, []) }
            let links = state.objects.values.compactMap { object -> FakeLink? in
                if case .connected(let link)? = object.l2cap?.phase { link } else { nil }
            }
            return (0, links.filter { $0.adapter == adapter && $0.isCentral == isCentral }.map(\.name))
        }
        peers = outcome.peers
        return outcome.error
    }

    func listAttempts(_ descriptor: Int32, _ adapter: UInt16, into peers: inout [BluetoothAddress]) -> Int32 {
        let outcome = with { state -> (error: Int32, peers: [BluetoothAddress]) in
            if let error = state.enter(.connectionList) { return (error, []) }
            return (0, state.attempts(of: adapter))
        }
        peers = outcome.peers
        return outcome.error
    }

    func listHandles(_ descriptor: Int32, _ adapter: UInt16, into handles: inout [UInt16]) -> Int32 {
        let outcome = with { state -> (error: Int32, handles: [UInt16]) in
            if let error = state.enter(.connectionList) { return (error, []) }
            let links = state.objects.values.compactMap { object -> FakeLink? in
                if case .connected(let link)? = object.l2cap?.phase { link } else { nil }
            }
            let classic = (state.adapters[adapter]?.classicLinks ?? [:]).keys
            return (0, links.filter { $0.adapter == adapter }.map(\.handle) + classic)
        }
        handles = outcome.handles
        return outcome.error
    }

    func openRawHCI(_ adapter: UInt16) -> Int32 {
        with { state in
            if let error = state.enter(.hciOpen) { return error }
            guard state.adapters[adapter] != nil else { return -ENODEV }
            return state.add(.hci(.init(channel: .raw(adapter: adapter))))
        }
    }

    func filterScanning(_ descriptor: Int32) -> Int32 {
        with { state in
            if let error = state.enter(.hciFilter) { return error }
            state.objects[descriptor]?.hci?.hearsScans = true
            return 0
        }
    }

    func filterLinks(_ descriptor: Int32) -> Int32 {
        with { state in
            if let error = state.enter(.hciFilter) { return error }
            state.objects[descriptor]?.hci?.hearsLinks = true
            return state.isRaw ? 0 : 1
        }
    }

    func sendCommand(_ descriptor: Int32, _ opcode: UInt16, _ parameters: [UInt8]) -> Int32 {
        let before = with { state -> (@Sendable () -> Void)? in
            guard state.beforeCommand?.opcode == opcode else { return nil }
            return state.beforeCommand.take()?.body
        }
        before?()
        return with { state in
            if let error = state.enter(.hciCommand) { return error }
            guard case .raw(let number)? = state.objects[descriptor]?.hci?.channel else { return -EBADFD }
            guard state.adapters[number]?.isUp == true else { return -ENETDOWN }
            state.hciCommand(opcode, parameters, on: number)
            return 0
        }
    }
}

extension FakeState {
    /// Whom an adapter is to connect to, or is still listed to.
    func attempts(of number: UInt16) -> [BluetoothAddress] {
        let kept = (adapters[number]?.keptAttempts ?? [:]).keys.sorted { $0.rawValue < $1.rawValue }
        return connecting(from: number).map { $0.peer }.filter { !kept.contains($0) } + kept
    }

    mutating func bindHCI(_ descriptor: Int32, _ octets: [UInt8]) -> Int32 {
        let number = UInt16(octets[2]) | UInt16(octets[3]) << 8
        switch octets[4] {
        case 0:
            guard adapters[number] != nil else { return -ENODEV }
            objects[descriptor]?.hci?.channel = .raw(adapter: number)
        case 2:
            guard isRaw else { return -EPERM }
            objects[descriptor]?.hci?.channel = .monitor
        default: objects[descriptor]?.hci?.channel = .control
        }
        return 0
    }

    mutating func hciCommand(_ opcode: UInt16, _ parameters: [UInt8], on number: UInt16) {
        if adapters[number]?.silent.contains(opcode) == true { return }
        var returned: [UInt8] = [0]
        switch opcode {
        case 0x1002:
            var commands = [UInt8](repeating: 0, count: 64)
            if adapters[number]?.takesExtendedScans == true { commands[37] = 0x60 }
            returned += commands
        case 0x0406: endLink(UInt16(parameters[0]) | UInt16(parameters[1]) << 8, of: number)
        case 0x200C, 0x2042:
            adapters[number]?.isScanningByHCI = parameters.first == 1
            adapters[number]?.reportedByHCI = parameters.dropFirst().first == 1 ? [] : nil
        default: break
        }
        let octets = [1, UInt8(opcode & 0xFF), UInt8(opcode >> 8)] + returned
        tellRaw(number, [4, 0x0E, UInt8(octets.count)] + octets, scans: true)
        if adapters[number]?.isScanningByHCI == true { hear(number) }
    }

    /// Tells the raw sockets of an adapter.
    mutating func tellRaw(_ number: UInt16, _ packet: [UInt8], scans: Bool) {
        for (descriptor, object) in objects.sorted(by: { $0.key < $1.key }) {
            guard let socket = object.hci, case .raw(let adapter)? = socket.channel, adapter == number else { continue }
            if scans ? socket.hearsScans : socket.hearsLinks { deliver(packet, to: descriptor) }
        }
    }

    mutating func tellConnected(_ link: FakeLink) {
        let flags: [UInt8] = link.isCentral && tellsWhoConnects ? [8, 0, 0, 0] : [0, 0, 0, 0]
        tell(link.adapter, 0x0B, ManagementAddress(link.peer).octets + flags + [0, 0])
        reportConnected(link)
    }

    /// What a controller reports, to the kernel and to raw sockets.
    mutating func reportConnected(_ link: FakeLink) {
        let handle = [UInt8(link.handle & 0xFF), UInt8(link.handle >> 8)]
        // LE Connection Complete: an interval of 30 ms, no latency, a supervision timeout of 4 s.
        let event: [UInt8] =
            [0x01, 0] + handle + [link.isCentral ? 0 : 1, link.peer.kind == .public ? 0 : 1]
            + link.peer.littleEndianOctets + [24, 0, 0, 0, 0x90, 1, 0]
        if isRaw { tellRaw(link.adapter, [4, 0x3E, UInt8(event.count)] + event, scans: false) }
        tellRaw(link.adapter, [4, 0x3E, UInt8(event.count)] + event, scans: true)
    }

    mutating func tellDisconnected(_ link: FakeLink, _ reason: UInt8) {
        let peer = ManagementAddress(link.name)
        let waiting = adapters[link.adapter]?.pairing
        adapters[link.adapter]?.endPairing(with: peer)
        tell(link.adapter, 0x0C, peer.octets + [reason])
        reportDisconnected(link.handle, of: link.adapter)
        // The pairing ends with the link, in this order, see `hci_disconn_complete_evt` and `smp_chan_destroy`.
        if let waiting, waiting.peer == peer { answer(waiting.socket, link.adapter, 0x19, .failed, peer.octets) }
    }

    mutating func reportDisconnected(_ handle: UInt16, of number: UInt16) {
        let event = [0, UInt8(handle & 0xFF), UInt8(handle >> 8), 0x13]
        tellRaw(number, [4, 0x05, UInt8(event.count)] + event, scans: false)
    }

    /// Ends a link, be it one that the kernel knows or one that it has forgotten: the peer of that one is there again.
    private mutating func endLink(_ handle: UInt16, of number: UInt16) {
        if let peer = adapters[number]?.forgotten.removeValue(forKey: handle) {
            reportDisconnected(handle, of: number)
            peers[peer]?.isHere = true
            return lookForLinks()
        }
        if adapters[number]?.classicLinks[handle] != nil { return endClassic(handle, of: number, reason: 2) }
        let known = objects.first { _, object in
            guard case .connected(let link)? = object.l2cap?.phase else { return false }
            return link.adapter == number && link.handle == handle
        }
        if let known { end(known.key, reason: 2) }
    }
}
